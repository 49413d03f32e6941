//! What one more pointer in an entry costs: the argument of May 2007.
//!
//! Xu's plan needs a link in each entry. He counted 236 bytes in an object of 256, so that the link was free;
//! Miller answered that the next allocator packs. Both are arithmetic, done here for any size.

/// How an allocator places objects of one size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Packing {
    /// Each object begins on a line of this many bytes (the slab allocator's cache alignment).
    Line(usize),
    /// Each object begins on a multiple of this many bytes, usually a pointer's.
    Packed(usize),
}

impl Packing {
    /// Bytes that an object of `size` bytes takes.
    ///
    /// # Panics
    ///
    /// If the unit is zero.
    #[must_use]
    pub const fn stride(self, size: usize) -> usize {
        let (Self::Line(unit) | Self::Packed(unit)) = self;
        size.next_multiple_of(unit)
    }

    /// Objects of `size` bytes in a page of `page` bytes.
    ///
    /// # Panics
    ///
    /// If the unit or `size` is zero.
    #[must_use]
    pub const fn objects_per_page(self, size: usize, page: usize) -> usize {
        page / self.stride(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_the_mail_costs_nothing_in_aligned_objects() {
        let slab = Packing::Line(64);
        assert_eq!((slab.stride(236), slab.stride(236 + 4)), (256, 256));
        assert_eq!((slab.objects_per_page(236, 4096), slab.objects_per_page(240, 4096)), (16, 16));
    }

    #[test]
    fn packed_objects_grow_by_the_link_but_a_page_holds_as_many() {
        let packed = Packing::Packed(4);
        assert_eq!((packed.stride(236), packed.stride(236 + 4)), (236, 240));
        assert_eq!((packed.objects_per_page(236, 4096), packed.objects_per_page(240, 4096)), (17, 17));
    }
}
