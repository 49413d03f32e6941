//! Fast key erasure: half of a block is the next key and half is output, so that no output can be told from the key that
//! is left.

use crate::{
    chacha::{BLOCK_BYTES, ChaCha20, KEY_BYTES},
    wipe::wipe,
};

/// Replaces `key`, fills `random` (at most 32 bytes), and returns the cipher as it is after that: at block 1, with the
/// *old* key. What is made from it is output too, and must be done with before anybody could look.
pub(super) fn erase(key: &mut [u8; KEY_BYTES], random: &mut [u8]) -> ChaCha20 {
    debug_assert!(random.len() <= BLOCK_BYTES - KEY_BYTES, "the block has no more");
    let mut cipher = ChaCha20::new(key, 0, 0);
    let mut block = [0; BLOCK_BYTES];
    cipher.block(&mut block);
    key.copy_from_slice(&block[..KEY_BYTES]);
    random.copy_from_slice(&block[KEY_BYTES..][..random.len()]);
    wipe(&mut block);
    cipher
}
