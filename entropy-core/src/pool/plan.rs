//! What the mail changed, taken apart: every combination of its changes is a plan with a name.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString as _},
};
use core::{error::Error, fmt, iter, str::FromStr};

use strum::{Display, EnumString, VariantArray};

use super::layout::{LINE_BYTES, Layout};

/// `PREFETCH_STRIDE`: four lines. The header's default for processors that say nothing else.
const POSTED_STRIDE_BYTES: usize = 4 * LINE_BYTES;

/// How much of the pool is prefetched, and what for.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Extent {
    /// The posted code, with both of its slips: the index mask of the pool, *words* less one, is handed over as a
    /// length in *bytes*; and the helper steps four lines at a time. One line of the eight of a 512-byte pool.
    AsPosted,
    /// The whole length in bytes, still four lines at a time: two of eight.
    LengthMended,
    /// The whole length, line by line: eight of eight.
    StrideMended,
    /// As [`StrideMended`](Self::StrideMended), and the lines are asked for to be written.
    ForWrite,
}

impl Extent {
    /// Where in a pool of `pool_bytes` the prefetched lines begin, in bytes from its start, in order.
    pub fn offsets(self, pool_bytes: usize) -> impl Iterator<Item = usize> {
        let (length, stride) = match self {
            Self::AsPosted => ((pool_bytes / 4).saturating_sub(1), POSTED_STRIDE_BYTES),
            Self::LengthMended => (pool_bytes, POSTED_STRIDE_BYTES),
            Self::StrideMended | Self::ForWrite => (pool_bytes, LINE_BYTES),
        };
        // Not `step_by`: it begins with a division, in front of the very misses that are to be hidden.
        iter::successors(Some(0_usize), move |at| at.checked_add(stride)).take_while(move |&at| at < length)
    }
}

/// When the pool is prefetched.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
pub enum Place {
    /// Before the lock is asked for, as in the mail's first draft: the misses overlap the wait for the lock, but
    /// its holder may be made to fetch lines again.
    #[strum(to_string = "before")]
    BeforeLock,
    /// With the lock held, as posted: nobody is disturbed, and the misses are held time.
    #[strum(to_string = "inside")]
    InsideLock,
}

/// Whether, how and when a plan prefetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// Not at all.
    None,
    /// Once for each call.
    At {
        /// How much.
        extent: Extent,
        /// When.
        place: Place,
    },
}

impl Prefetch {
    /// The nine choices, none first.
    pub fn all() -> impl Iterator<Item = Self> {
        iter::once(Self::None).chain(
            Place::VARIANTS
                .iter()
                .flat_map(|&place| Extent::VARIANTS.iter().map(move |&extent| Self::At { extent, place })),
        )
    }
}

/// One way of mixing. All plans give the same state after every call; they differ in what they touch, and when.
///
/// ```
/// use entropy_core::pool::MixPlan;
///
/// let plan: MixPlan = "split+hoisted+ahead+stride-mended@before".parse()?;
/// assert_eq!(plan, MixPlan::BEST);
/// assert_eq!(plan.to_string(), "best");
/// assert_eq!(MixPlan::factorial().count(), 72);
/// # Ok::<(), entropy_core::pool::UnknownPlan>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MixPlan {
    /// Which fields share a line.
    pub layout: Layout,
    /// Taps are read once, before the lock; position and rotation once inside it, and written back at the end.
    /// Otherwise all are read, and the latter written, for every word.
    pub hoisted: bool,
    /// The input is read one word ahead of its use, the first before the lock.
    pub read_ahead: bool,
    /// Whether the pool is prefetched.
    pub prefetch: Prefetch,
}

impl MixPlan {
    /// The driver before the mail.
    pub const AS_IT_WAS: Self =
        Self { layout: Layout::Packed, hoisted: false, read_ahead: false, prefetch: Prefetch::None };

    /// The patch of March 2004, slips included.
    pub const AS_POSTED: Self = Self {
        layout: Layout::Split,
        hoisted: true,
        read_ahead: true,
        prefetch: Prefetch::At { extent: Extent::AsPosted, place: Place::InsideLock },
    };

    /// What we expect to be best, decided before anything was measured.
    ///
    /// Every line, since the taps of a few words already spread over the whole pool. To read, not to write: a call
    /// writes one line for every sixteen words and only reads the others, and a line taken for writing is a line
    /// that the next processor misses. Before the lock, since the lock is as likely to be in another cache as the
    /// pool: there the misses overlap its own, inside they come after it.
    pub const BEST: Self = Self {
        layout: Layout::Split,
        hoisted: true,
        read_ahead: true,
        prefetch: Prefetch::At { extent: Extent::StrideMended, place: Place::BeforeLock },
    };

    /// As posted, but with the lock on a line of its own: what the mail's author tried and found slightly slower.
    pub const LOCK_ALONE: Self = Self { layout: Layout::LockAlone, ..Self::AS_POSTED };

    /// The plans that have a name of their own, the baseline first.
    pub const NAMED: [(&str, Self); 4] = [
        ("as-it-was", Self::AS_IT_WAS),
        ("as-posted", Self::AS_POSTED),
        ("best", Self::BEST),
        ("lock-alone", Self::LOCK_ALONE),
    ];

    /// The mail's changes in all 72 combinations, the baseline first.
    pub fn factorial() -> impl Iterator<Item = Self> {
        [Layout::Packed, Layout::Split].into_iter().flat_map(|layout| {
            [false, true].into_iter().flat_map(move |hoisted| {
                [false, true].into_iter().flat_map(move |read_ahead| {
                    Prefetch::all().map(move |prefetch| Self { layout, hoisted, read_ahead, prefetch })
                })
            })
        })
    }

    /// The factorial, and the one named plan outside it.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::factorial().chain([Self::LOCK_ALONE])
    }

    /// What the plan does, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let layout = match self.layout {
            Layout::Packed => "all fields on one line",
            Layout::Split => "read-only fields apart from the lock and its data",
            Layout::LockAlone => "read-only fields, lock and data on three lines",
        };
        let state = if self.hoisted { "state in registers" } else { "state reloaded for each word" };
        let input = if self.read_ahead { "input read ahead" } else { "input read as needed" };
        let prefetch = match self.prefetch {
            Prefetch::None => "no prefetch".to_owned(),
            Prefetch::At { extent, place } => {
                let extent = match extent {
                    Extent::AsPosted => "prefetch as posted (words taken for bytes, every fourth line)",
                    Extent::LengthMended => "prefetch of every fourth line",
                    Extent::StrideMended => "prefetch of every line",
                    Extent::ForWrite => "prefetch of every line for writing",
                };
                let place = match place {
                    Place::BeforeLock => "before the lock",
                    Place::InsideLock => "inside the lock",
                };
                [extent, place].join(" ")
            }
        };
        [layout, state, input, &prefetch].join(", ")
    }
}

/// The plan's own name, or else its parts: `layout[+hoisted][+ahead][+extent@place]`.
impl fmt::Display for MixPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = Self::NAMED.iter().find(|(_, plan)| plan == self) {
            return f.pad(name);
        }
        let mut name = self.layout.to_string();
        if self.hoisted {
            name.push_str("+hoisted");
        }
        if self.read_ahead {
            name.push_str("+ahead");
        }
        if let Prefetch::At { extent, place } = self.prefetch {
            name.push('+');
            name.push_str(&extent.to_string());
            name.push('@');
            name.push_str(&place.to_string());
        }
        f.pad(&name)
    }
}

/// Takes names and parts alike, also the parts of a plan that has a name.
impl FromStr for MixPlan {
    type Err = UnknownPlan;

    fn from_str(name: &str) -> Result<Self, UnknownPlan> {
        if let Some((_, plan)) = Self::NAMED.iter().find(|(known, _)| *known == name) {
            return Ok(*plan);
        }
        from_parts(name).ok_or_else(|| UnknownPlan { name: name.to_owned() })
    }
}

fn from_parts(name: &str) -> Option<MixPlan> {
    let mut parts = name.split('+').peekable();
    let layout = parts.next()?.parse().ok()?;
    let hoisted = parts.next_if_eq(&"hoisted").is_some();
    let read_ahead = parts.next_if_eq(&"ahead").is_some();
    let prefetch = match parts.next() {
        None => Prefetch::None,
        Some(part) => {
            let (extent, place) = part.split_once('@')?;
            Prefetch::At { extent: extent.parse().ok()?, place: place.parse().ok()? }
        }
    };
    parts.next().is_none().then_some(MixPlan { layout, hoisted, read_ahead, prefetch })
}

/// A name that no plan has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPlan {
    /// The name that was given.
    pub name: String,
}

impl fmt::Display for UnknownPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no plan is named `{}`: choose", self.name)?;
        MixPlan::NAMED.iter().try_for_each(|(name, _)| write!(f, " {name},"))?;
        f.write_str(
            " or write layout[+hoisted][+ahead][+extent@place], such as split+hoisted+for-write@inside",
        )
    }
}

impl Error for UnknownPlan {}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeSet, vec::Vec};

    use super::*;
    use crate::pool::taps::PoolSize;

    fn touched(extent: Extent, size: PoolSize) -> usize {
        let lines: BTreeSet<_> = extent.offsets(size.bytes()).map(|at| at / LINE_BYTES).collect();
        assert!(lines.iter().all(|&line| line < size.bytes() / LINE_BYTES), "{extent}: outside the pool");
        lines.len()
    }

    #[test]
    fn as_posted_prefetches_1_line_of_8_length_mended_2_stride_mended_all() {
        let size = PoolSize::PRIMARY;
        assert_eq!(Extent::VARIANTS.iter().map(|&e| touched(e, size)).collect::<Vec<_>>(), [1, 2, 8, 8]);
    }

    #[test]
    fn every_extent_prefetches_the_right_number_of_lines_in_every_size() {
        // Lines, as posted, length mended: a quarter of the bytes less one by 256, and all bytes by 256, rounded up.
        let expected = [(2, 1, 1), (4, 1, 1), (8, 1, 2), (16, 1, 4), (32, 2, 8), (64, 4, 16), (128, 8, 32)];
        for (&size, (lines, as_posted, length_mended)) in PoolSize::ALL.iter().zip(expected) {
            assert_eq!(touched(Extent::AsPosted, size), as_posted, "{size}");
            assert_eq!(touched(Extent::LengthMended, size), length_mended, "{size}");
            assert_eq!(touched(Extent::StrideMended, size), lines, "{size}");
            assert_eq!(touched(Extent::ForWrite, size), lines, "{size}");
        }
    }

    #[test]
    fn the_factorial_has_72_different_plans_and_starts_with_the_baseline() {
        let plans: Vec<_> = MixPlan::factorial().collect();
        let names: BTreeSet<_> = plans.iter().map(|plan| plan.to_string()).collect();
        assert_eq!((plans.len(), names.len()), (72, 72));
        assert_eq!(plans[0], MixPlan::AS_IT_WAS);
        assert!(plans.contains(&MixPlan::AS_POSTED) && plans.contains(&MixPlan::BEST));
    }

    #[test]
    fn names_go_both_ways() {
        for &layout in Layout::VARIANTS {
            for plan in MixPlan::factorial().map(|plan| MixPlan { layout, ..plan }) {
                assert_eq!(plan.to_string().parse(), Ok(plan), "{plan}");
            }
        }
        for (name, plan) in MixPlan::NAMED {
            assert_eq!(name.parse(), Ok(plan));
            assert_eq!(plan.to_string(), name);
        }
    }

    #[test]
    fn a_named_plan_can_be_written_by_its_parts() {
        assert_eq!("packed".parse(), Ok(MixPlan::AS_IT_WAS));
        assert_eq!("split+hoisted+ahead+as-posted@inside".parse(), Ok(MixPlan::AS_POSTED));
    }

    #[test]
    fn what_is_no_name_is_refused_and_says_what_is() {
        for name in [
            "",
            "+",
            "hoisted",
            "split+",
            "split+ahead+hoisted",
            "split+as-posted",
            "split+as-posted@",
            "split+as-posted@inside+ahead",
            "Split",
            "as_posted",
            " best",
            "split+hoisted+hoisted",
        ] {
            let refused = name.parse::<MixPlan>().expect_err(name);
            assert_eq!(refused.name, name);
            assert!(refused.to_string().contains("as-it-was"));
        }
    }

    #[test]
    fn summaries_are_one_line_and_differ() {
        let summaries: BTreeSet<_> = MixPlan::all().map(|plan| plan.summary()).collect();
        assert_eq!(summaries.len(), 73);
        assert!(summaries.iter().all(|summary| !summary.contains('\n')));
    }
}
