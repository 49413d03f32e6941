//! `probe-cli` alone: what it is, how it is used, and what works here now.

use std::io::Write;

use super::kernel;
use crate::{
    error::{Error, Result},
    report::text::safe,
};

const HELP: &str = "\
probe-cli measures what mails to the kernel list claim, on this CPU and beside the live kernel
  run [EXPERIMENT...]   every variant of an experiment, interleaved, with two verdicts
  trace TARGET...       latencies of live functions; count, slow and heatmap take the same targets
  list [PATTERN]        experiments, variants, kernel targets, probe sites
  doctor                what this kernel, user, CPU and build can do, and what is missing
  COMMAND --help        everything else, with examples

examples
  probe-cli run pool-mix --quick
  probe-cli run --json report.json
  probe-cli trace syscall:getrandom -d 5
  probe-cli call bpf_get_prandom_u32
";

pub(super) fn write(out: &mut dyn Write) -> Result<()> {
    let rows = kernel::mechanisms();
    let names = |works| {
        let names: Vec<String> =
            rows.iter().filter(|row| row.works == works).map(|row| safe(&row.name)).collect();
        names.join(", ")
    };
    let here = match (names(true), names(false)) {
        (working, missing) if working.is_empty() && missing.is_empty() => "the user-space lab".to_owned(),
        (working, missing) if working.is_empty() => {
            format!("the user-space lab, but not {missing} (`probe-cli doctor` says why)")
        }
        (working, missing) if missing.is_empty() => format!("the user-space lab, and beside it {working}"),
        (working, missing) => {
            format!(
                "the user-space lab, and beside it {working}; not {missing} (`probe-cli doctor` says why)"
            )
        }
    };
    write!(out, "{HELP}\nworks here now: {here}\n").map_err(Error::Stdout)
}
