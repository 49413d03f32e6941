//! Chores that plain cargo cannot express: `cargo xtask <command>`, one file a command.

mod apt;
mod bench;
mod build_ebpf;
mod cargo;
mod ci;
mod core_source;
mod dist;
mod peers;
mod places;
mod process;
mod run;
mod setup;
mod strip;
mod tally;
mod test;
mod tidy;
mod verify;
mod vm;
mod vm_test;

use std::process::ExitCode;

use clap::Parser;

/// Chores of this workspace
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "Begin with `cargo xtask run --quick` and `cargo xtask test`: each does its own set-up.\n\
                  Every command that is run is shown after a `$`, on standard error."
)]
enum Xtask {
    Run(run::Run),
    Test(test::Test),
    VmTest(vm_test::VmTest),
    Bench(bench::Bench),
    Verify(verify::Verify),
    Setup(setup::Setup),
    BuildEbpf(build_ebpf::BuildEbpf),
    Dist(dist::Dist),
    Tidy(tidy::Tidy),
    Ci(ci::Ci),
}

fn main() -> ExitCode {
    let done = match Xtask::parse() {
        Xtask::Run(command) => command.run(),
        Xtask::Test(command) => command.run(),
        Xtask::VmTest(command) => command.run(),
        Xtask::Bench(command) => command.run(),
        Xtask::Verify(command) => command.run(),
        Xtask::Setup(command) => command.run().map(|()| ExitCode::SUCCESS),
        Xtask::BuildEbpf(command) => command.run().map(|()| ExitCode::SUCCESS),
        Xtask::Dist(command) => command.run(),
        Xtask::Tidy(command) => command.run().map(|()| ExitCode::SUCCESS),
        Xtask::Ci(command) => command.run(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
