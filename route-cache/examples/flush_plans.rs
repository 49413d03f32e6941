//! Flushes the table of the mail, 16 384 buckets and 512 locks, by every plan, and prints what each did.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use route_cache::{FlushObserver, FlushPlan, Geometry, RouteKey, RouteTable, Smp, Traits};

/// Times how long each lock was held.
#[derive(Default)]
struct Holds {
    since: Option<Instant>,
    holds: Vec<Duration>,
}

impl FlushObserver for Holds {
    fn locked(&mut self, _: usize) {
        self.since = Some(Instant::now());
    }

    fn unlocking(&mut self, _: usize) {
        self.holds.extend(self.since.take().map(|since| since.elapsed()));
    }
}

impl Holds {
    fn percentile_99(mut self) -> Duration {
        self.holds.sort_unstable();
        self.holds.get(self.holds.len() * 99 / 100).copied().unwrap_or_default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let entries = 8_000;
    println!("{entries} entries in 16384 buckets under 512 locks");
    println!("{:<20} {:>8} {:>8} {:>8} {:>12}", "plan", "unlinked", "left", "locks", "hold p99");
    for &plan in FlushPlan::ALL {
        let table: RouteTable<[u8; 200], Smp> = RouteTable::new(Geometry::new(16_384, 512));
        for daddr in 0..entries {
            let key = RouteKey { daddr, ..RouteKey::default() };
            table.intern(key, [0; 200], Traits::default())?;
        }
        let mut holds = Holds::default();
        let report = table.flush_observed(plan, &mut holds);
        let hold = format!("{:?}", holds.percentile_99());
        println!(
            "{:<20} {:>8} {:>8} {:>8} {hold:>12}",
            plan.name(),
            report.entries,
            report.stale,
            report.locks
        );
    }
    let (with, without) = RouteTable::<[u8; 200], Smp>::entry_bytes();
    println!("an entry is {with} bytes with the link that `linked` needs, {without} without");
    Ok(())
}
