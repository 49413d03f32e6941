//! Prints what this machine's processor says of itself, what would run here, and what the run-time probe finds.
//!
//! `cargo run --release --example this_machine`

use copy_engine::{Engine, Features, Limits, Routine, Selection, Topology};

fn main() {
    let topology = Topology::native();
    println!(
        "processor  {} family {:#x}{}",
        topology.vendor,
        topology.family,
        if topology.guest { ", a guest" } else { "" }
    );
    for (name, cache) in [("L1d", topology.l1d), ("L2", topology.l2), ("L3", topology.l3)] {
        println!("{name:<9}  {} KiB, said to be shared by {}", cache.bytes >> 10, cache.sharers);
    }
    let features = Features::native();
    for routine in Routine::ALL {
        let kind = if routine.streams() { "around the cache" } else { "through the cache" };
        let here = if features.contains(routine.needs()) { kind } else { "not on this processor" };
        println!("routine    {routine:<21} {here}");
    }
    let engine = Engine::detect();
    let Selection { cached, long, ahead, stream, page } = engine.selection();
    println!(
        "chosen     through the cache {cached}, from {} KiB {long}, to where it is cold {ahead}",
        engine.limits().long >> 10
    );
    println!("           around it {stream}, for a page {page}");
    print_limits("claimed", engine.limits());
    let (measured, crossings) = engine.measured(32 << 20);
    for crossing in &crossings {
        println!(
            "probe      {:>3} MiB copied and read: {:>9.1?} through the cache, {:>9.1?} around it",
            crossing.bytes >> 20,
            crossing.cached,
            crossing.streamed
        );
    }
    print_limits("measured", measured.limits());
}

fn print_limits(what: &str, limits: Limits) {
    println!(
        "{what:<9}  streams from {} KiB unknown, {} KiB read soon, {} B not read ({})",
        limits.unknown >> 10,
        limits.read_soon >> 10,
        limits.not_read,
        limits.basis
    );
}
