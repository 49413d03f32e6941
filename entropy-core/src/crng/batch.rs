//! Small numbers in stock: 96 bytes at a time for each width, each number erased as it is handed out.

use super::generators::{Crng, Readiness};
use crate::{range::below_u32, wipe::wipe};

const BATCH_BYTES: usize = 96;

/// Stocks of one CPU, one for each width, as numbers of one width must not tell of those of another.
#[derive(Default)]
pub(super) struct Batches([Batch; 4]);

struct Batch {
    bytes: [u8; BATCH_BYTES],
    used: usize,
    generation: u64,
}

impl Default for Batch {
    fn default() -> Self {
        Self { bytes: [0; BATCH_BYTES], used: BATCH_BYTES, generation: 0 }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl Batches {
    fn of_width(&mut self, bytes: usize) -> &mut Batch {
        &mut self.0[bytes.ilog2() as usize]
    }
}

impl Crng {
    /// A number of 8 bits.
    pub fn next_u8(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64) -> u8 {
        u8::from_le_bytes(self.stocked(cpu, hardware))
    }

    /// A number of 16 bits.
    pub fn next_u16(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64) -> u16 {
        u16::from_le_bytes(self.stocked(cpu, hardware))
    }

    /// A number of 32 bits.
    pub fn next_u32(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64) -> u32 {
        u32::from_le_bytes(self.stocked(cpu, hardware))
    }

    /// A number of 64 bits.
    pub fn next_u64(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64) -> u64 {
        u64::from_le_bytes(self.stocked(cpu, hardware))
    }

    /// A number below `ceiling`, each with the same chance; 0 if there is none or only one.
    pub fn next_below(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64, ceiling: u32) -> u32 {
        below_u32(ceiling, || self.next_u32(cpu, hardware))
    }

    /// A stock is not used before the generator is ready, and thrown away when the base key has been reseeded.
    fn stocked<const BYTES: usize>(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64) -> [u8; BYTES] {
        let mut number = [0; BYTES];
        if self.readiness() < Readiness::Ready {
            self.bytes(cpu, hardware, &mut number);
            return number;
        }
        let generation = self.generation();
        let batch = self.cpu(cpu).batches.of_width(BYTES);
        if batch.used == BATCH_BYTES || batch.generation != generation {
            let mut fresh = [0; BATCH_BYTES];
            self.bytes(cpu, hardware, &mut fresh);
            let batch = self.cpu(cpu).batches.of_width(BYTES);
            *batch = Batch { bytes: fresh, used: 0, generation };
            wipe(&mut fresh);
        }
        let batch = self.cpu(cpu).batches.of_width(BYTES);
        let place = &mut batch.bytes[batch.used..][..BYTES];
        number.copy_from_slice(place);
        wipe(place);
        batch.used += BYTES;
        number
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::crng::READY_BITS;

    fn ready(cpus: usize) -> Crng {
        let mut crng = Crng::new(cpus);
        crng.credit(READY_BITS, 0, &mut || 5);
        crng
    }

    fn none() -> u64 {
        panic!("a seeded generator does not ask")
    }

    #[test]
    fn a_stock_is_96_bytes_of_the_kernel_s_own_stream() {
        let (mut crng, mut plain) = (ready(1), ready(1));
        for _ in 0..3 {
            let mut expected = [0; BATCH_BYTES];
            plain.bytes(0, &mut none, &mut expected);
            for number in expected.as_chunks().0 {
                assert_eq!(crng.next_u32(0, &mut none), u32::from_le_bytes(*number));
            }
        }
    }

    #[test]
    fn widths_have_stocks_of_their_own() {
        let (mut crng, mut plain) = (ready(1), ready(1));
        let mut stocks = [[0; BATCH_BYTES]; 4];
        for stock in &mut stocks {
            plain.bytes(0, &mut none, stock);
        }
        for round in 0..2 {
            assert_eq!(crng.next_u8(0, &mut none), stocks[0][round]);
            assert_eq!(crng.next_u16(0, &mut none).to_le_bytes(), stocks[1][2 * round..][..2]);
            assert_eq!(crng.next_u32(0, &mut none).to_le_bytes(), stocks[2][4 * round..][..4]);
            assert_eq!(crng.next_u64(0, &mut none).to_le_bytes(), stocks[3][8 * round..][..8]);
        }
    }

    #[test]
    fn what_was_handed_out_is_erased() {
        let mut crng = ready(1);
        (0..3).for_each(|_| _ = crng.next_u64(0, &mut none));
        let batch = crng.cpu(0).batches.of_width(8);
        assert_eq!((batch.used, &batch.bytes[..24]), (24, &[0; 24][..]));
        assert!(batch.bytes[24..].iter().any(|&byte| byte != 0));
    }

    #[test]
    fn a_stock_does_not_outlive_a_reseeding_or_its_cpu() {
        let mut crng = ready(1);
        crng.next_u8(0, &mut none);
        crng.reseed(0, &mut || 6);
        crng.next_u8(0, &mut none);
        assert_eq!(crng.cpu(0).batches.of_width(1).used, 1);
        crng.next_u8(0, &mut none);
        crng.prepare_cpu(0);
        crng.next_u8(0, &mut none);
        assert_eq!(crng.cpu(0).batches.of_width(1).used, 1);
    }

    #[test]
    fn before_the_generator_is_ready_nothing_is_stocked() {
        let mut crng = Crng::new(1);
        crng.next_u8(0, &mut || 1);
        assert_eq!(crng.cpu(0).batches.of_width(1).used, BATCH_BYTES);
    }

    #[test]
    fn cpus_beyond_the_last_begin_again() {
        let (mut one, mut other) = (ready(2), ready(2));
        assert_eq!(one.next_u64(usize::MAX, &mut none), other.next_u64(1, &mut none));
    }
}
