//! The families: what the lab asks of random numbers, copies and routes, and which parts of the kernel can answer.
//!
//! Candidates are ordered by how near they are to the question. Which functions exist, can be traced and have been
//! renamed differs between kernels 6.1 and 7.2; each is tried, and the row says which answered.

use crate::probe::function::{Function, Place};

/// A list of questions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// Random numbers: drawing, mixing, reseeding.
    Random,
    /// Copies between user space and the kernel.
    Copy,
    /// Routes: looking up, and flushing.
    Route,
}

/// Something to ask.
#[derive(Debug)]
pub struct FamilyQuestion {
    /// As `FAMILY:NAME`.
    pub name: &'static str,
    /// In words.
    pub question: &'static str,
    /// Nearest first.
    pub candidates: &'static [Candidate],
}

/// Part of the kernel that can answer.
#[derive(Debug)]
pub enum Candidate {
    /// A function.
    Function(Function),
    /// A system call, which includes the entry and everything on the way.
    Syscall(&'static str),
    /// A function that timers run.
    Timer(&'static str),
    /// A primitive that can be called.
    Call(&'static str),
}

use Candidate::{Call, Syscall, Timer};

const fn function(name: &'static str) -> Candidate {
    Candidate::Function(Function::named(name))
}

const fn sized(name: &'static str, argument: u32) -> Candidate {
    Candidate::Function(Function::sized(name, argument))
}

/// A function that is given an iterator over the caller's memory.
const fn iterating(name: &'static str, argument: u32) -> Candidate {
    let size = Place::Field { argument, structure: "iov_iter", field: "count" };
    Candidate::Function(Function { name: std::borrow::Cow::Borrowed(name), size })
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Copy, Self::Route];

    /// As it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Copy => "copy",
            Self::Route => "route",
        }
    }

    /// The one called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Its questions.
    #[must_use]
    pub const fn questions(self) -> &'static [FamilyQuestion] {
        match self {
            Self::Random => RANDOM,
            Self::Copy => COPY,
            Self::Route => ROUTE,
        }
    }
}

const RANDOM: &[FamilyQuestion] = &[
    FamilyQuestion {
        name: "random:getrandom",
        question: "what does a getrandom(2) of n bytes cost?",
        candidates: &[iterating("get_random_bytes_user", 0), Syscall("getrandom")],
    },
    FamilyQuestion {
        name: "random:urandom",
        question: "what does a read of n bytes of /dev/urandom cost?",
        candidates: &[iterating("urandom_read_iter", 1)],
    },
    FamilyQuestion {
        name: "random:kernel",
        question: "what does the kernel pay for n random bytes of its own?",
        candidates: &[sized("_get_random_bytes", 1), sized("get_random_bytes", 1)],
    },
    FamilyQuestion {
        name: "random:state",
        question: "what does it cost to take the key of the moment and replace it?",
        candidates: &[sized("crng_make_state", 2), sized("crng_fast_key_erasure", 3)],
    },
    FamilyQuestion {
        name: "random:mix",
        question: "what does mixing n bytes into the pool cost?",
        candidates: &[sized("mix_pool_bytes", 1), sized("_mix_pool_bytes", 1), sized("blake2s_update", 2)],
    },
    FamilyQuestion {
        name: "random:interrupt",
        question: "what does an interrupt pay for the randomness in its timing?",
        candidates: &[function("add_interrupt_randomness")],
    },
    FamilyQuestion {
        name: "random:fast-pool",
        question: "what does it cost to mix a CPU's fast pool into the input pool?",
        candidates: &[function("mix_interrupt_randomness"), Timer("mix_interrupt_randomness")],
    },
    FamilyQuestion {
        name: "random:reseed",
        question: "what does a reseed cost?",
        candidates: &[function("crng_reseed"), function("extract_entropy.constprop.0")],
    },
    FamilyQuestion {
        name: "random:prandom",
        question: "what does a number of the generator of the 2020 mail cost?",
        candidates: &[function("prandom_u32_state"), Call("bpf_get_prandom_u32")],
    },
];

const COPY: &[FamilyQuestion] = &[
    FamilyQuestion {
        name: "copy:write",
        question: "what does a buffered write of n bytes cost?",
        candidates: &[iterating("generic_perform_write", 1), Syscall("write")],
    },
    FamilyQuestion {
        name: "copy:pwrite",
        question: "what does a pwrite(2) of n bytes cost?",
        candidates: &[Syscall("pwrite64")],
    },
    FamilyQuestion {
        name: "copy:read",
        question: "what does a read of n bytes cost?",
        candidates: &[sized("vfs_read", 2), Syscall("read")],
    },
    FamilyQuestion {
        name: "copy:from-user",
        question: "what does the kernel's own copy of n bytes from user space cost?",
        candidates: &[
            sized("_copy_from_iter", 1),
            sized("copy_folio_from_iter_atomic", 2),
            sized("copy_page_from_iter_atomic", 2),
            Call("bpf_probe_read_user:4096"),
        ],
    },
    FamilyQuestion {
        name: "copy:around-cache",
        question: "what does a copy around the cache cost, where this kernel still has one?",
        candidates: &[
            sized("copy_to_nontemporal", 2),
            sized("__copy_user_nocache", 2),
            sized("copy_user_flushcache", 2),
            sized("__copy_user_flushcache", 2),
            sized("__memcpy_flushcache", 2),
        ],
    },
    FamilyQuestion {
        name: "copy:pipe",
        question: "what does a write of n bytes to a pipe cost?",
        candidates: &[iterating("anon_pipe_write", 1), iterating("pipe_write", 1)],
    },
];

const ROUTE: &[FamilyQuestion] = &[
    FamilyQuestion {
        name: "route:lookup",
        question: "what does a lookup in a routing table cost?",
        candidates: &[function("fib_table_lookup"), Call("bpf_fib_lookup")],
    },
    FamilyQuestion {
        name: "route:output",
        question: "what does it cost to find the route of a packet that is sent?",
        candidates: &[
            function("ip_route_output_key_hash_rcu"),
            function("ip_route_output_key_hash"),
            Syscall("connect"),
        ],
    },
    FamilyQuestion {
        name: "route:input",
        question: "what does it cost to find the route of a packet that came in?",
        candidates: &[function("ip_route_input_noref"), function("ip_route_input_slow")],
    },
    FamilyQuestion {
        name: "route:flush",
        question: "what does it cost to make every cached route stale?",
        candidates: &[function("rt_cache_flush")],
    },
    FamilyQuestion {
        name: "route:flush-table",
        question: "what does it cost to empty the routing tables of what is dead?",
        candidates: &[function("fib_flush"), function("fib_table_flush")],
    },
    FamilyQuestion {
        name: "route:interface-down",
        question: "what does it cost to drop the routes of an interface that goes down?",
        candidates: &[function("fib_sync_down_dev"), function("rt_flush_dev")],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probe::syscall;

    #[test]
    fn questions_have_names_of_their_own_and_candidates_that_there_are() {
        let mut names = BTreeSet::new();
        for family in Family::ALL {
            assert_eq!(Family::by_name(family.name()), Some(family));
            for question in family.questions() {
                assert!(question.name.starts_with(&format!("{}:", family.name())), "{}", question.name);
                assert!(names.insert(question.name), "{} is there twice", question.name);
                assert!(!question.candidates.is_empty() && question.question.ends_with('?'));
                for candidate in question.candidates {
                    if let Candidate::Syscall(name) = candidate {
                        assert!(syscall::Syscall::by_name(name).is_some(), "{name}");
                    }
                }
            }
        }
    }
}
