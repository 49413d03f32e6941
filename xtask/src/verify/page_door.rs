//! What the page routine of 2009 saves: its instructions for a page beside those of the generic routine.
//!
//! Counted is the example `one_copy` of copy-engine, and of it the routine alone.

use anyhow::{Result, ensure};

use super::counts;
use crate::cargo::{cargo, executables, find};

const EXAMPLE: &str = "one_copy";
/// The generic routine and the page routine, by their names in the library, each with the function that does the work.
///
/// Counting is switched at each entry and exit of that function: one that called another of the same pattern would be
/// counted only outside it.
const ROUTINES: [(&str, &str); 2] = [
    ("movnti", "copy_engine::arch::x86_64::movnti::generic"),
    ("movnti-page", "copy_engine::arch::x86_64::movnti::page"),
];
const PAGE: &str = "4096";
/// `movnti` moves 8 bytes, and they have to be loaded before: whoever counts less has not counted the copy.
const LEAST: u64 = 2 * 4096 / 8;
/// Offsets of the source: aligned, and two that no routine may care for, since the destination is aligned.
const OFFSETS: [&str; 3] = ["0", "1", "63"];

/// Counts both routines twice, prints the rows, and fails if a count does not repeat or the door saves nothing.
pub(super) fn run() -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        println!("{:<48} {:>12}", "movnti, movnti-page", "x86-64 only");
        return Ok(());
    }
    let built =
        executables(&mut cargo(["build", "--release", "--package=copy-engine", "--example", EXAMPLE]))?;
    let example = find(&built, "example", EXAMPLE)?;
    for offset in OFFSETS {
        let mut of_a_page = Vec::new();
        for (routine, function) in ROUTINES {
            let toggle = format!("--toggle-collect={function}");
            let count = || counts::whole(example, &[&toggle], &[routine, PAGE, offset]);
            let (first, second) = (count()?, count()?);
            let row = format!("{routine}, a page, source at {offset}");
            println!("{row:<48} {first:>12}");
            ensure!(first == second, "the count of {routine} does not repeat ({first} and {second})");
            ensure!(first >= LEAST, "{first} instructions move no page: was {function} entered?");
            of_a_page.push(first);
        }
        let [generic, page] = of_a_page[..] else { continue };
        ensure!(page < generic, "the page routine takes {page} instructions, the generic one {generic}");
        println!("{:<48} {:>12}", format!("saved by the page routine at {offset}"), generic - page);
    }
    Ok(())
}
