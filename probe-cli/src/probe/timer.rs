//! Timer functions, by the events around each that runs: for work that the kernel leaves to the next tick, where
//! functions themselves cannot be traced.

use std::fs;
use std::path::Path;

use aya::programs::TracePoint;
use probe_abi::maps::{self, program};

use super::backend::Backend;
use super::function::{self, Function};
use super::object;
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::Session;
use super::syscall::clone_fd;
use super::tracefs;

/// Exits before entries: see the system calls.
const PAIRS: [(&str, &str); 2] =
    [(program::TIMER_EXIT, "timer_expire_exit"), (program::TIMER_ENTER, "timer_expire_entry")];

/// Traces every run of each of `functions`, on all CPUs: a timer runs in whatever thread is current, so there is
/// nobody to filter by. One that exists and is never run by a timer counts nothing.
///
/// # Errors
///
/// Hidden addresses, a function that is not there, no tracefs, or a program or link that is refused.
pub fn trace(functions: &[Function], scope: &Scope) -> Result<Session, Refusal> {
    object::bytes()?;
    let (mut ebpf, layout, missing) = function::load(functions, scope)?;
    if let Some((_, refusal)) = missing.into_iter().next() {
        return Err(refusal);
    }

    let mut programs = Vec::new();
    let pairs = if scope.count_only { &PAIRS[1..] } else { &PAIRS };
    for (name, _) in pairs {
        let program: &mut TracePoint = object::program(&mut ebpf, name);
        program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
        programs.extend(clone_fd(program.fd()));
    }
    let ebpf = tracefs::with(move |place| {
        function_is_where_programs_read_it(place)?;
        for (name, event) in pairs {
            object::program::<TracePoint>(&mut ebpf, name)
                .attach("timer", event)
                .map_err(|error| Refusal::from_error(format!("attaching to timer:{event}"), &error))?;
        }
        Ok(ebpf)
    })??;
    Session::new(Backend::Tracepoint, layout, ebpf, programs, Vec::new(), scope)
}

fn function_is_where_programs_read_it(tracefs: &Path) -> Result<(), Refusal> {
    const TRIED: &str = "reading the format of timer:timer_expire_entry";
    let path = tracefs.join("events/timer/timer_expire_entry/format");
    let format = fs::read_to_string(path).map_err(|error| Refusal::from_error(TRIED, &error))?;
    match offset_of("function", &format) {
        Some(maps::TIMER_FUNCTION_OFFSET) => Ok(()),
        found => {
            let answer = format!("the function is at {found:?}, not at {}", maps::TIMER_FUNCTION_OFFSET);
            Err(Refusal::new(TRIED, answer, Cause::NotBuiltIn))
        }
    }
}

/// Where `field`, a pointer, is in the records that `format` describes.
fn offset_of(field: &str, format: &str) -> Option<usize> {
    let declaration = format!("* {field};");
    let line = format.lines().find(|line| line.contains(&declaration))?;
    line.split_once("offset:")?.1.split_once(';')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let format = "name: timer_expire_entry\n\
                      \tfield:void * timer;\toffset:8;\tsize:8;\tsigned:0;\n\
                      \tfield:void * functional;\toffset:16;\tsize:8;\tsigned:0;\n\
                      \tfield:void * function;\toffset:24;\tsize:8;\tsigned:0;\n\
                      print fmt: \"function=%ps\", REC->function\n";
        assert_eq!(offset_of("function", format), Some(24));
        assert_eq!(offset_of("timer", format), Some(8));
        assert_eq!(offset_of("now", format), None);
    }
}
