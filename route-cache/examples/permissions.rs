//! A permission cache: rules change now and then, and from that moment no old answer may be given.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use route_cache::FlushCache;

/// Rules as they would come from a database: the number of the last user who is allowed in.
struct Rules {
    last_allowed: AtomicU64,
    cache: FlushCache<u64, bool>,
}

impl Rules {
    fn may_enter(&self, user: u64) -> bool {
        self.cache.get_or_insert_with(user, || user <= self.last_allowed.load(Ordering::Acquire))
    }

    fn change(&self, last_allowed: u64) {
        // First the truth, then the flush: what is worked out after the flush is right.
        self.last_allowed.store(last_allowed, Ordering::Release);
        self.cache.flush();
    }
}

fn main() {
    let rules = Rules { last_allowed: AtomicU64::new(1_000), cache: FlushCache::with_capacity(4_096) };
    let stop = AtomicBool::new(false);
    let answers: u64 = thread::scope(|scope| {
        let ask = |first: u64| {
            let (rules, stop) = (&rules, &stop);
            scope.spawn(move || {
                let mut answers = 0;
                while !stop.load(Ordering::Relaxed) || answers == 0 {
                    assert!(!rules.may_enter(first + answers % 1_000 + 2_000), "nobody above 2000 ever may");
                    answers += 1;
                }
                answers
            })
        };
        let threads = [ask(0), ask(1)];
        for last_allowed in (0..2_000).rev() {
            rules.change(last_allowed);
            assert!(!rules.may_enter(last_allowed + 1), "an answer from before the change");
            assert!(rules.may_enter(last_allowed));
        }
        stop.store(true, Ordering::Relaxed);
        threads.map(|thread| thread.join().expect("no answer was wrong")).iter().sum()
    });
    println!("2000 changes of rules while others asked {answers} times; no old answer was given");
    println!("{:?}, {} bytes", rules.cache, rules.cache.memory_bytes());
}
