//! Tools of others find the same markers and count the same hits.

use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::new()
}
