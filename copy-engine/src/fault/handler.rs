//! The signal handler: ours if the instruction is ours, else whoever was there before.
//!
//! All of it may run between any two instructions of the process, so it calls only what POSIX lists as safe there, takes
//! no lock, allocates nothing and touches no thread-local storage but `errno`, which it puts back.

use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::boxed::Box;
use std::io;
use std::sync::Mutex;

use super::error::{InstallError, Unready};
use super::routine;

pub(super) use super::routine::{Outcome, clear, run};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Who handled each signal before; never freed, as a handler may be reading it.
static PREVIOUS: [AtomicPtr<libc::sigaction>; 2] =
    [AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut())];
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Puts the handler before whoever is there; a second call changes nothing.
pub(super) fn install() -> Result<(), InstallError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if is_installed() {
        return Ok(());
    }
    routine::detect();
    for (signal, previous) in SIGNALS.into_iter().zip(&PREVIOUS) {
        let action = current(signal).map_err(|error| refused(signal, &error))?;
        if action.sa_sigaction == handle as *const () as usize {
            // Left by a call that failed at the other signal: taken for the previous one, it would call itself for ever.
            continue;
        }
        // Known before ours is in force: a foreign fault in between finds its handler.
        remember(previous, action);
        // SAFETY: all zero is a valid value of this plain C structure.
        let mut ours: libc::sigaction = unsafe { mem::zeroed() };
        ours.sa_sigaction = handle as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: as above.
        let mut replaced: libc::sigaction = unsafe { mem::zeroed() };
        // SAFETY: both point to live structures; the handler is async-signal-safe and has the form that SA_SIGINFO asks for.
        let answer = unsafe { libc::sigaction(signal, &raw const ours, &raw mut replaced) };
        if answer != 0 {
            return Err(refused(signal, &io::Error::last_os_error()));
        }
        remember(previous, replaced);
    }
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

pub(super) fn is_installed() -> bool {
    INSTALLED.load(Ordering::Acquire)
}

/// Whether a fault in this thread, now, would be survived.
pub(super) fn readiness() -> Result<(), Unready> {
    if !is_installed() {
        return Err(Unready::NotInstalled);
    }
    for signal in SIGNALS {
        let ours = current(signal).is_ok_and(|action| action.sa_sigaction == handle as *const () as usize);
        if !ours {
            return Err(Unready::HandlerReplaced { signal });
        }
    }
    // SAFETY: all zero is a valid set of signals, which the next call overwrites.
    let mut blocked: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: a null set changes nothing; the old one goes to a live variable.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked) };
    for signal in SIGNALS {
        // SAFETY: an initialised set and a valid signal.
        if unsafe { libc::sigismember(&raw const blocked, signal) } != 0 {
            return Err(Unready::SignalBlocked { signal });
        }
    }
    // SAFETY: all zero is a valid value, which the next call overwrites.
    let mut stack: libc::stack_t = unsafe { mem::zeroed() };
    // SAFETY: a null stack changes nothing; the old one goes to a live variable.
    unsafe { libc::sigaltstack(ptr::null(), &raw mut stack) };
    if stack.ss_flags & libc::SS_DISABLE != 0 {
        return Err(Unready::NoAlternateStack);
    }
    // SAFETY: reads a vector that the kernel gave the process.
    let needed = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    if stack.ss_flags & libc::SS_ONSTACK != 0 || stack.ss_size < needed {
        return Err(Unready::AlternateStackFull);
    }
    Ok(())
}

fn current(signal: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: all zero is a valid value of this plain C structure.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a null action changes nothing; the old one goes to a live variable.
    match unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } {
        0 => Ok(action),
        _ => Err(io::Error::last_os_error()),
    }
}

fn refused(signal: c_int, error: &io::Error) -> InstallError {
    InstallError::Refused { signal, errno: error.raw_os_error().unwrap_or(0) }
}

fn remember(previous: &AtomicPtr<libc::sigaction>, action: libc::sigaction) {
    previous.store(Box::into_raw(Box::new(action)), Ordering::Release);
}

/// What the kernel calls for either signal.
///
/// # Safety
///
/// `info` and `context` are what the kernel passes to a handler with `SA_SIGINFO`.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the contract is the same.
    if unsafe { go_on(signal, info, context) } {
        return;
    }
    // SAFETY: the address of this thread's own errno, which is always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    // SAFETY: the contract is the same.
    unsafe { pass_on(signal, info, context) };
    // SAFETY: as above.
    unsafe { *errno = saved };
}

/// Moves a fault of ours on to its fixup; `false` if it is not ours.
///
/// # Safety
///
/// As [`handle`].
unsafe fn go_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the kernel's frame lives until the handler returns, and is this handler's to change.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |name: c_int| registers[name as usize] as usize;
    let Some(fixup) = routine::fixup(register(libc::REG_RIP)) else { return false };
    // SAFETY: the kernel fills this structure for every signal, and it lives as long as its frame.
    let info = unsafe { &*info };
    let code = info.si_code;
    // SAFETY: for these two signals the union holds an address, or, if somebody sent them, other plain numbers.
    let address = unsafe { info.si_addr() }.addr();
    if !is_of_the_copy(signal, code, address, register(libc::REG_RSI), register(libc::REG_RDI)) {
        return false;
    }
    registers[libc::REG_R10 as usize] = i64::from(signal) << 32 | i64::from(code as u32);
    registers[libc::REG_R11 as usize] = address as i64;
    registers[libc::REG_RIP as usize] = fixup as i64;
    true
}

/// Whether a signal that arrived at one of our instructions is that instruction's own fault.
///
/// The code does not decide: some kernels report a wrong one. The address does, as no instruction of ours reaches far from
/// either pointer. Two faults carry no such address and are the instruction's by their nature: an address with wrong upper
/// bits, and a memory error on access, whose address may be that of the page.
fn is_of_the_copy(signal: c_int, code: c_int, address: usize, src: usize, dst: usize) -> bool {
    const SI_KERNEL: c_int = 0x80;
    const BUS_MCEERR_AR: c_int = 4;
    const BUS_MCEERR_AO: c_int = 5;
    match (signal, code) {
        (_, SI_KERNEL) | (libc::SIGBUS, BUS_MCEERR_AR) => true,
        // Tells of memory that nobody has touched yet: not a fault, whatever address it names.
        (libc::SIGBUS, BUS_MCEERR_AO) => false,
        _ => [src, dst].iter().any(|&side| address.abs_diff(side) < routine::REACH),
    }
}

/// Hands a signal that is not ours to whoever was there before, as the kernel would have.
///
/// # Safety
///
/// As [`handle`].
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let slot = usize::from(signal == libc::SIGBUS);
    let previous = PREVIOUS[slot].load(Ordering::Acquire);
    // SAFETY: either null or a structure that is never freed.
    let Some(previous) = (unsafe { previous.as_ref() }) else {
        // SAFETY: the contract is the same.
        return unsafe { die(signal, info) };
    };
    match previous.sa_sigaction {
        // SAFETY: the contract is the same.
        libc::SIG_DFL => unsafe { die(signal, info) },
        libc::SIG_IGN => {
            // The kernel ignores the ignoring of a fault; only what somebody sent can be ignored.
            // SAFETY: the kernel fills this structure for every signal.
            if unsafe { (*info).si_code } > 0 {
                // SAFETY: the contract is the same.
                unsafe { die(signal, info) }
            }
        }
        // SAFETY: the address was in force as a handler before ours, and the rest is the contract.
        handler => unsafe { call(handler, previous, signal, info, context) },
    }
}

/// Calls the previous handler in the form and with the signals blocked that it asked for.
///
/// # Safety
///
/// `handler` is the handler of `previous`; the rest is as for [`handle`].
unsafe fn call(
    handler: usize,
    previous: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let slot = usize::from(signal == libc::SIGBUS);
    if previous.sa_flags & libc::SA_RESETHAND != 0 {
        PREVIOUS[slot].store(ptr::null_mut(), Ordering::Release);
    }
    // SAFETY: all zero is a valid set of signals, which the next call overwrites.
    let mut before: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: both sets are live; the call is async-signal-safe.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const previous.sa_mask, &raw mut before) };
    if previous.sa_flags & libc::SA_NODEFER != 0 {
        // SAFETY: all zero is a valid, empty set.
        let mut this: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: a live set and a valid signal.
        unsafe { libc::sigaddset(&raw mut this, signal) };
        // SAFETY: a live set; the call is async-signal-safe.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const this, ptr::null_mut()) };
    }
    if previous.sa_flags & libc::SA_SIGINFO != 0 {
        type Full = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: a handler installed with SA_SIGINFO has this form.
        let handler = unsafe { mem::transmute::<usize, Full>(handler) };
        // SAFETY: called with what the kernel would have called it with.
        unsafe { handler(signal, info, context) };
    } else {
        type Plain = unsafe extern "C" fn(c_int);
        // SAFETY: a handler installed without SA_SIGINFO has this form.
        let handler = unsafe { mem::transmute::<usize, Plain>(handler) };
        // SAFETY: as above.
        unsafe { handler(signal) };
    }
    // SAFETY: the set that was in force; the call is async-signal-safe.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
}

/// Lets the process end by this signal, as if nobody had handled it.
///
/// # Safety
///
/// As [`handle`].
unsafe fn die(signal: c_int, info: *mut libc::siginfo_t) {
    // SAFETY: all zero is the default action with no flags.
    let default: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a live structure; the call is async-signal-safe.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    // A fault comes again by itself when the instruction is repeated; what somebody sent has to be sent again.
    // SAFETY: the kernel fills this structure for every signal.
    if unsafe { (*info).si_code } <= 0 {
        // SAFETY: async-signal-safe; delivered when this handler returns.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPERR: c_int = 1;
    const SENT: c_int = 0;

    #[test]
    fn the_address_decides_and_not_the_code() {
        let at = |code, address| is_of_the_copy(libc::SIGSEGV, code, address, 0x1000, 0x9000);
        for code in [MAPERR, 2, SENT] {
            assert!(at(code, 0x1000) && at(code, 0x13ff) && at(code, 0xc01) && at(code, 0x9000), "{code}");
            assert!(!at(code, 0x1400) && !at(code, 0xc00) && !at(code, 0), "{code}");
        }
    }

    #[test]
    fn faults_without_an_address_are_the_instructions_own() {
        assert!(is_of_the_copy(libc::SIGSEGV, 0x80, 0, 0x1000, 0x9000));
        assert!(is_of_the_copy(libc::SIGBUS, 4, 0x5000, 0x5010, 0x9000));
        assert!(!is_of_the_copy(libc::SIGBUS, 5, 0x1000, 0x1000, 0x9000));
    }
}
