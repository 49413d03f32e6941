//! Where a field is in a structure of the running kernel, by the kernel's own type information.
//!
//! Programs written in Rust are not relocated when they are loaded, so offsets are looked up here and handed over.
//! The format is that of Documentation/bpf/btf.rst; of it only structures, unions and what leads to them is read.

use std::fs;
use std::sync::OnceLock;

use super::refusal::{Cause, Refusal};

const MAGIC: u16 = 0xeb9f;
const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// Anonymous structures that are looked into, one inside the other.
const DEEPEST: u32 = 8;

/// Offset in bytes of `field` in the kernel's `structure`, anonymous structures inside it looked through.
///
/// # Errors
///
/// The kernel has no BTF, or no such field on a whole byte.
pub fn offset_of(structure: &str, field: &str) -> Result<u32, Refusal> {
    let tried = || format!("looking up {structure}.{field}");
    let bytes = kernel().map_err(|refusal| Refusal { tried: tried(), ..refusal })?;
    Types::parse(bytes)
        .and_then(|types| types.offset_of(structure, field))
        .ok_or_else(|| Refusal::new(tried(), "the kernel's types have no such field", Cause::NotBuiltIn))
}

/// Names of all functions that the kernel's types describe.
///
/// # Errors
///
/// The kernel has no BTF.
pub fn functions() -> Result<Vec<&'static str>, Refusal> {
    let types = Types::parse(kernel()?);
    Ok(types.map(|types| types.functions()).unwrap_or_default())
}

fn kernel() -> Result<&'static [u8], Refusal> {
    static BYTES: OnceLock<Result<Vec<u8>, Refusal>> = OnceLock::new();
    let read = || {
        fs::read("/sys/kernel/btf/vmlinux").map_err(|error| Refusal {
            cause: Cause::NoBtf,
            ..Refusal::from_error("reading the kernel's BTF", &error)
        })
    };
    BYTES.get_or_init(read).as_deref().map_err(Clone::clone)
}

/// A type: what is common to all kinds, and the words behind it.
#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    kind: u32,
    /// Bit fields: then the offsets of members are not whole numbers of bits alone.
    flagged: bool,
    count: usize,
    rest: &'a [u8],
}

struct Types<'a> {
    types: Vec<Type<'a>>,
    strings: &'a [u8],
}

impl<'a> Types<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        if half(0)? != MAGIC {
            return None;
        }
        let header = word(bytes, 4)? as usize;
        let section = |at: usize| {
            let (offset, length) = (word(bytes, at)? as usize, word(bytes, at + 4)? as usize);
            bytes.get(header.checked_add(offset)?..)?.get(..length)
        };
        let (mut rest, strings) = (section(8)?, section(16)?);
        let mut types = Vec::new();
        while !rest.is_empty() {
            let (name, info) = (word(rest, 0)?, word(rest, 4)?);
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let size = match kind {
                INT | VAR | DECL_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
                ENUM | FUNC_PROTO => 8 * count,
                _ => 0,
            };
            let behind = rest.get(12..)?.get(..size)?;
            types.push(Type { name, kind, flagged: info >> 31 == 1, count, rest: behind });
            rest = rest.get(12 + size..)?;
        }
        Some(Self { types, strings })
    }

    fn name(&self, offset: u32) -> Option<&'a str> {
        let text = self.strings.get(offset as usize..)?;
        std::str::from_utf8(text.split(|byte| *byte == 0).next()?).ok()
    }

    fn offset_of(&self, structure: &str, field: &str) -> Option<u32> {
        let mut named = self
            .types
            .iter()
            .filter(|found| found.kind == STRUCT && self.name(found.name) == Some(structure));
        let bits = named.find_map(|found| self.bits(found, field, DEEPEST))?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    fn bits(&self, structure: &Type<'a>, field: &str, deepest: u32) -> Option<u32> {
        (0..structure.count).find_map(|member| {
            let (name, kind) = (word(structure.rest, 12 * member)?, word(structure.rest, 12 * member + 4)?);
            let mut bits = word(structure.rest, 12 * member + 8)?;
            if structure.flagged {
                bits &= 0xff_ffff;
            }
            match self.name(name)? {
                "" if deepest > 0 => {
                    let inner = self.types.get((kind as usize).checked_sub(1)?)?;
                    matches!(inner.kind, STRUCT | UNION).then_some(())?;
                    bits.checked_add(self.bits(inner, field, deepest - 1)?)
                }
                found => (found == field).then_some(bits),
            }
        })
    }

    fn functions(&self) -> Vec<&'a str> {
        let functions = self.types.iter().filter(|found| found.kind == FUNC);
        functions.filter_map(|found| self.name(found.name)).collect()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `struct iov { u32 first; union { u64 plain; u64 other; }; }` and a function.
    fn sample() -> Vec<u8> {
        let strings = b"\0iov\0first\0plain\0other\0work\0";
        let types: Vec<u32> = [
            [0, UNION << 24 | 2, 8].as_slice(),
            &[11, 0, 0, 17, 0, 0],
            &[1, STRUCT << 24 | 2, 16],
            &[5, 0, 0, 0, 1, 64],
            &[23, FUNC << 24, 0],
        ]
        .concat();
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        for field in [24, 0, 4 * types.len() as u32, 4 * types.len() as u32, strings.len() as u32] {
            bytes.extend(field.to_ne_bytes());
        }
        types.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn a_field_is_found_through_what_has_no_name() {
        let bytes = sample();
        let types = Types::parse(&bytes).unwrap();
        assert_eq!(types.offset_of("iov", "first"), Some(0));
        assert_eq!(types.offset_of("iov", "plain"), Some(8));
        assert_eq!(types.offset_of("iov", "other"), Some(8));
        assert_eq!(types.offset_of("iov", "missing"), None);
        assert_eq!(types.offset_of("missing", "first"), None);
        assert_eq!(types.functions(), ["work"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(at in 0_usize..120, byte: u8, cut in 0_usize..140) {
            let mut bytes = sample();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(cut);
            if let Some(types) = Types::parse(&bytes) {
                types.offset_of("iov", "plain");
                types.functions();
            }
        }
    }
}
