//! Copies once by a named routine: something for a disassembler, a debugger or a counter of instructions to look at.
//!
//! `cargo run --release --example one_copy -- movnti-page 4096 0` (routine, bytes, offset of the source). With the feature
//! `fault` its routines can be named as well.

use copy_engine::{PAGE, Routine};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: one_copy ROUTINE BYTES SOURCE_OFFSET, for instance: one_copy movnti-page 4096 0";
    let mut next = || arguments.next().ok_or(usage);
    let name = next()?;
    let (bytes, offset): (usize, usize) = (next()?.parse()?, next()?.parse()?);

    let (src, mut room) = (vec![1; bytes + offset], vec![0; bytes + PAGE]);
    let aligned = room.as_ptr().align_offset(PAGE);
    let (dst, src) = (&mut room[aligned..][..bytes], &src[offset..]);

    #[cfg(all(feature = "fault", target_os = "linux"))]
    if let Ok(routine) = name.parse() {
        use copy_engine::fault::{Rest, install};
        println!("{:?}", install()?.session().with_routine(routine).read(dst, src.into(), Rest::Zero));
        return Ok(());
    }
    let names = || Routine::ALL.iter().map(Routine::to_string).collect::<Vec<_>>().join(", ");
    let routine: Routine = name.parse().map_err(|_| format!("no routine {name}; there are {}", names()))?;
    let routine = routine.on_this_cpu().ok_or("this processor or build cannot run it")?;
    println!("{:?}", routine.copy(dst, src));
    Ok(())
}
