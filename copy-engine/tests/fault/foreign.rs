//! Faults that are none of ours, each in a process of its own.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use super::*;

const ROLE: &str = "COPY_ENGINE_TEST_ROLE";
const HANDLED: i32 = 42;

/// Runs this very test binary in a role.
fn child(role: &str) -> Option<ExitStatus> {
    super::session()?;
    let arguments = ["--exact", "foreign::the_child", "--ignored", "--nocapture"];
    let output =
        Command::new(std::env::current_exe().unwrap()).args(arguments).env(ROLE, role).output().unwrap();
    println!("{role}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.status)
}

#[test]
fn a_foreign_fault_ends_the_process_by_the_same_signal() {
    for (role, signal) in [("segv", libc::SIGSEGV), ("bus", libc::SIGBUS)] {
        let Some(status) = child(role) else { return };
        assert_eq!(status.signal(), Some(signal), "{role}: {status}");
    }
}

#[test]
fn a_signal_that_somebody_sends_ends_the_process() {
    for (role, signal) in [("sent-segv", libc::SIGSEGV), ("sent-bus", libc::SIGBUS)] {
        let Some(status) = child(role) else { return };
        assert_eq!(status.signal(), Some(signal), "{role}: {status}");
    }
}

#[test]
fn whoever_was_there_before_handles_what_is_not_ours() {
    for role in ["previous", "previous-plain", "previous-nested"] {
        let Some(status) = child(role) else { return };
        assert_eq!(status.code(), Some(HANDLED), "{role}: {status}");
    }
}

/// The handler of std, which tells an overflow of the stack from other faults, still does.
#[test]
fn an_overflow_of_the_stack_is_still_reported_as_one() {
    let Some(status) = child("overflow") else { return };
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}");
}

#[test]
fn what_was_ignored_before_is_ignored_when_sent_and_deadly_when_a_fault() {
    let Some(status) = child("ignored-sent") else { return };
    assert!(status.success(), "{status}");
    let Some(status) = child("ignored-fault") else { return };
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
}

#[test]
fn a_handler_that_was_replaced_leads_to_the_fallback() {
    let Some(status) = child("replaced") else { return };
    assert!(status.success(), "{status}");
}

fn set(signal: i32, handler: usize, flags: i32) {
    // SAFETY: all zero is a valid value of this plain C structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: a live structure.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
}

extern "C" fn leave(_: i32, info: *mut libc::siginfo_t, _: *mut std::ffi::c_void) {
    // SAFETY: installed with SA_SIGINFO, so the kernel fills it.
    let info = unsafe { &*info };
    // SAFETY: and with an address, as a fault is what this process waits for.
    let address = unsafe { info.si_addr() }.addr();
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(if address == 8 { HANDLED } else { 1 }) };
}

extern "C" fn leave_plainly(_: i32) {
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(HANDLED) };
}

/// Copies inside a handler, where the signal is blocked: the fallback, and no end of the process.
extern "C" fn copy_and_leave(_: i32) {
    // SAFETY: nothing is there.
    let nowhere = unsafe { Untrusted::new(std::ptr::null(), 8) }.unwrap();
    let account = Door::get().unwrap().read(&mut [0; 8], nowhere, Rest::Zero);
    let fell_back = matches!(account.way, Way::ProcessVm(Unready::SignalBlocked { .. }));
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(if fell_back && account.left == 8 { HANDLED } else { 1 }) };
}

/// Goes on until the stack ends.
#[allow(unconditional_recursion, reason = "the end is the purpose")]
fn overflow(depth: u64) -> Vec<u64> {
    let room = std::hint::black_box([depth; 512]);
    let mut deeper = overflow(room[7].wrapping_add(1));
    deeper.push(room[3]);
    deeper
}

fn touch(address: usize) {
    // SAFETY: not upheld, on purpose: nothing is there, and the fault ends this process, which is what is tested.
    unsafe { std::ptr::without_provenance::<u8>(address).read_volatile() };
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn the_child() {
    let role = std::env::var(ROLE).unwrap();
    // No core file: the end is expected.
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    match role.as_str() {
        "previous" => set(libc::SIGSEGV, leave as *const () as usize, libc::SA_SIGINFO),
        "previous-plain" => set(libc::SIGSEGV, leave_plainly as *const () as usize, 0),
        "previous-nested" => set(libc::SIGSEGV, copy_and_leave as *const () as usize, 0),
        // The handler of std would take a signal that is sent for a fault that comes again.
        "sent-segv" => set(libc::SIGSEGV, libc::SIG_DFL, 0),
        "sent-bus" => set(libc::SIGBUS, libc::SIG_DFL, 0),
        "ignored-sent" | "ignored-fault" => set(libc::SIGSEGV, libc::SIG_IGN, 0),
        _ => {}
    }
    let door = fault::install().unwrap();
    // Ours still work, and a second installation changes nothing.
    assert_eq!(fault::install(), Ok(door));
    let edge = Edge::new();
    assert_eq!(door.session().read(&mut [0; 64], edge.range(64, 10), Rest::Zero).left, 54);
    match role.as_str() {
        "segv" | "previous" | "previous-plain" | "previous-nested" | "ignored-fault" => touch(8),
        "overflow" => drop(overflow(1)),
        "bus" => {
            let (_file, map) = mapped(10, false);
            touch(map.as_ptr().addr() + 2 * PAGE);
        }
        "sent-segv" | "ignored-sent" => {
            nix::sys::signal::kill(nix::unistd::Pid::this(), Signal::SIGSEGV).unwrap()
        }
        "sent-bus" => nix::sys::signal::kill(nix::unistd::Pid::this(), Signal::SIGBUS).unwrap(),
        "replaced" => {
            set(libc::SIGBUS, leave_plainly as *const () as usize, 0);
            assert_falls_back(door, Unready::HandlerReplaced { signal: libc::SIGBUS });
            set(libc::SIGSEGV, leave_plainly as *const () as usize, 0);
            assert_falls_back(door, Unready::HandlerReplaced { signal: libc::SIGSEGV });
        }
        role => panic!("no role {role}"),
    }
}
