//! A kilobyte of key stream that begins with the next key, and is erased as it is handed out.

use crate::{
    chacha::{Backend, ChaCha20, KEY_BYTES},
    wipe::wipe,
};

/// Bytes of key stream made at a time: sixteen blocks.
pub(crate) const STOCK_BYTES: usize = 1024;

/// Bytes of a full stock that may be handed out.
const MOST_LEFT: usize = STOCK_BYTES - KEY_BYTES;

/// Bytes that are moved at once.
const PIECE_BYTES: usize = 32;

/// The first 32 bytes are the next key; the last `left` may be handed out; those in between are zeros.
///
/// All zeros: nothing left, and a key that nobody may use. The kernel may make it so between any two instructions, in a
/// child: nothing here may panic then, and whoever owns a stock in such memory throws away what he got
/// ([`WipedPage`](crate::fork::WipedPage)).
#[repr(C, align(64))]
pub(crate) struct Stock {
    bytes: [u8; STOCK_BYTES],
    left: usize,
}

impl Stock {
    pub(crate) const EMPTY: Self = Self { bytes: [0; STOCK_BYTES], left: 0 };

    /// Throws away what is left, and takes `key` for the next one.
    pub(crate) fn seed(&mut self, key: &[u8; KEY_BYTES]) {
        self.clear();
        self.bytes[..KEY_BYTES].copy_from_slice(key);
    }

    /// Throws away everything, the key too.
    pub(crate) fn clear(&mut self) {
        self.left = 0;
        wipe(&mut self.bytes);
    }

    /// Makes a new stock. The key that it is made with is overwritten by the one after it: what was handed out before
    /// cannot be made again from what is here now.
    #[inline]
    pub(crate) fn refill(&mut self, backend: Backend) {
        let key = self.bytes.first_chunk().expect("a stock begins with a key");
        let mut cipher = ChaCha20::with_backend(backend, key, 0, 0);
        cipher.fill(&mut self.bytes);
        self.left = MOST_LEFT;
    }

    /// The next bytes, erased here; none if there are not so many left.
    #[inline]
    pub(crate) fn take<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let place = self.rest().first_chunk_mut()?;
        let bytes = *place;
        wipe(place);
        self.left = self.left.saturating_sub(BYTES);
        Some(bytes)
    }

    /// Moves as many bytes to `out` as it has; none if there are not so many left. Says whether it did.
    #[inline]
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> bool {
        let Some(place) = self.rest().get_mut(..out.len()) else { return false };
        // Most draws are short: pieces of a known length are moved and erased without a call into the C library.
        let (pieces, rest) = out.as_chunks_mut::<PIECE_BYTES>();
        let (from_pieces, from_rest) = place.as_chunks_mut::<PIECE_BYTES>();
        for (to, from) in pieces.iter_mut().zip(from_pieces) {
            *to = *from;
            wipe(from);
        }
        if !rest.is_empty() {
            rest.copy_from_slice(from_rest);
            wipe(from_rest);
        }
        self.left = self.left.saturating_sub(out.len());
        true
    }

    /// Moves what there is to the beginning of `out`; returns what has to be filled still.
    pub(crate) fn drain<'out>(&mut self, out: &'out mut [u8]) -> &'out mut [u8] {
        let (now, later) = out.split_at_mut(self.left.min(out.len()));
        self.fill(now);
        later
    }

    /// Fills the whole kilobytes of `out` without a detour; returns the rest. The key for that is handed out by the
    /// stock, and so erased in it.
    pub(crate) fn fill_whole<'out>(&mut self, backend: Backend, out: &'out mut [u8]) -> &'out mut [u8] {
        let (whole, rest) = out.split_at_mut(out.len() / STOCK_BYTES * STOCK_BYTES);
        if !whole.is_empty() {
            let mut key = self.take().unwrap_or_else(|| {
                self.refill(backend);
                // A full stock has a key, unless it was emptied this moment.
                self.take().unwrap_or_default()
            });
            ChaCha20::with_backend(backend, &key, 0, 0).fill(whole);
            wipe(&mut key);
        }
        rest
    }

    #[inline]
    fn rest(&mut self) -> &mut [u8] {
        // Not from the end: what cannot be is an empty rest, and no panic.
        self.bytes.get_mut(STOCK_BYTES.wrapping_sub(self.left)..).unwrap_or_default()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

    fn seeded() -> Stock {
        let mut stock = Stock::EMPTY;
        stock.seed(&KEY);
        stock
    }

    /// A kilobyte of the key stream, by the reference.
    fn key_stream(key: &[u8; KEY_BYTES], bytes: usize) -> Vec<u8> {
        let mut stream = vec![0; bytes];
        ChaCha20::with_backend(Backend::PORTABLE, key, 0, 0).fill(&mut stream);
        stream
    }

    fn backends() -> impl Iterator<Item = Backend> {
        Backend::all().into_iter().filter_map(|(_, backend)| backend)
    }

    #[test]
    fn a_stock_is_the_key_stream_behind_the_next_key() {
        for backend in backends() {
            let (mut stock, mut key) = (seeded(), KEY);
            for _ in 0..3 {
                let expected = key_stream(&key, STOCK_BYTES);
                stock.refill(backend);
                let mut out = [0; MOST_LEFT];
                assert!(stock.fill(&mut out));
                assert_eq!(out, expected[KEY_BYTES..], "{backend:?}");
                key.copy_from_slice(&expected[..KEY_BYTES]);
            }
        }
    }

    #[test]
    fn the_key_is_gone_before_the_first_byte_is_out() {
        for backend in backends() {
            let mut stock = seeded();
            stock.refill(backend);
            assert!(stock.bytes.windows(KEY_BYTES).all(|window| window != KEY));
        }
    }

    #[test]
    fn what_was_handed_out_is_zeros() {
        let mut stock = seeded();
        stock.refill(Backend::PORTABLE);
        assert_eq!(stock.take::<4>().map(|bytes| bytes.to_vec()), Some(key_stream(&KEY, 36)[32..].to_vec()));
        assert!(stock.fill(&mut [0; 100]));
        stock.drain(&mut [0; 6]);
        assert_eq!(stock.left, MOST_LEFT - 110);
        assert_eq!(stock.bytes[KEY_BYTES..][..110], [0; 110]);
        assert_eq!(stock.bytes[KEY_BYTES + 110..], key_stream(&KEY, STOCK_BYTES)[KEY_BYTES + 110..]);
    }

    #[test]
    fn no_more_is_handed_out_than_there_is() {
        let mut stock = seeded();
        assert_eq!((stock.take::<1>(), stock.fill(&mut [0]), stock.fill(&mut [])), (None, false, true));
        stock.refill(Backend::PORTABLE);
        assert!(stock.fill(&mut [0; MOST_LEFT - 3]));
        assert_eq!((stock.take::<4>(), stock.left), (None, 3));
        let mut out = [0; 5];
        assert_eq!(stock.drain(&mut out).len(), 2);
        assert_eq!(out[..3], key_stream(&KEY, STOCK_BYTES)[STOCK_BYTES - 3..]);
    }

    #[test]
    fn whole_kilobytes_come_from_a_key_of_the_stock() {
        for backend in backends() {
            let mut stock = seeded();
            let mut out = vec![0; 2 * STOCK_BYTES + 10];
            assert_eq!(stock.fill_whole(backend, &mut out).len(), 10);
            let handed_out = &key_stream(&KEY, STOCK_BYTES)[KEY_BYTES..][..KEY_BYTES];
            let expected = key_stream(handed_out.try_into().unwrap(), 2 * STOCK_BYTES);
            assert_eq!(out[..2 * STOCK_BYTES], expected);
            assert_eq!(out[2 * STOCK_BYTES..], [0; 10]);
            assert_eq!(stock.bytes[KEY_BYTES..][..KEY_BYTES], [0; KEY_BYTES]);
        }
    }

    #[test]
    fn a_seed_throws_away_what_was_left() {
        let mut stock = seeded();
        stock.refill(Backend::PORTABLE);
        stock.seed(&KEY);
        assert_eq!((stock.left, &stock.bytes[KEY_BYTES..]), (0, &[0; MOST_LEFT][..]));
        stock.clear();
        assert_eq!(stock.bytes, [0; STOCK_BYTES]);
    }
}
