//! The door to copies that survive: installed once, asked whether it would hold, used.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::account::{Account, Cause, Fault, Way};
use super::error::{InstallError, Unready};
use super::range::{Untrusted, UntrustedMut};
use super::{handler, process_vm};

/// What happens to the rest of the destination after a fault, and whether the copy tries again byte by byte.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, PartialEq, strum::Display, strum::EnumString, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Rest {
    /// The count is exact, and the rest is zeroed, so that no stale byte is taken for data.
    #[default]
    Zero,
    /// The count is exact, and the rest stays as it was.
    Leave,
    /// The first fault ends the copy, as where the kernel must not sleep: the count is an upper bound of what is missing,
    /// in whole blocks of the routine, and nothing is zeroed.
    Inatomic,
}

/// The routines that survive, the default first; the others for comparison.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    Hash,
    PartialEq,
    strum::Display,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FaultRoutine {
    /// Vectors through the cache, the widest that the processor has and does not pay for; long copies by `rep movsb` where
    /// the processor says that it is fast.
    #[default]
    Vector,
    /// `rep movsb`, which counts for itself.
    RepMovsb,
    /// The generic routine of Linux 2.6.27 and the mail, around the cache, with the byte-wise second try.
    Nocache,
    /// The page routine of the mail as it was meant; other lengths than 4096 run [`FaultRoutine::Nocache`].
    NocachePage,
    /// The form up to Linux 2.6.26: no second try, and up to 24 bytes reported as copied that never were.
    #[strum(serialize = "until-2.6.26")]
    Until2626,
    /// The form since Linux 6.4: at most three bytes more reported missing than are.
    #[strum(serialize = "since-6.4")]
    Since64,
}

impl FaultRoutine {
    /// Every routine, the default first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether its count is exact, where a second try is allowed.
    pub const fn is_exact(self) -> bool {
        match self {
            Self::Vector | Self::RepMovsb | Self::Nocache | Self::NocachePage => true,
            Self::Until2626 | Self::Since64 => false,
        }
    }
}

/// Installs the handler for SIGSEGV and SIGBUS before whoever handles them now. Never undone: somebody may be copying.
///
/// A second call changes nothing. Handlers installed later should pass on what they do not know, as this one does;
/// where they do not, [`Door::readiness`] says so.
///
/// # Errors
///
/// The target has no such routines, or the kernel refuses.
pub fn install() -> Result<Door, InstallError> {
    handler::install().map(|()| Door(()))
}

/// The proof that the handler has been installed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Door(());

impl Door {
    /// The door, if [`install`] has succeeded in this process.
    pub fn get() -> Option<Self> {
        handler::is_installed().then_some(Self(()))
    }

    /// Whether a fault in this thread, now, would be survived. Costs four system calls.
    ///
    /// # Errors
    ///
    /// The reason why not.
    pub fn readiness(self) -> Result<(), Unready> {
        handler::readiness()
    }

    /// A session of this thread, which asks [`Self::readiness`] once and then copies without asking.
    ///
    /// While it is open, nobody may replace the handlers of the process, or block the two signals or change the alternate
    /// stack of this thread: a fault would end as if this crate were not there.
    pub fn session(self) -> Session {
        Session { ready: self.readiness(), routine: FaultRoutine::default(), this_thread: PhantomData }
    }

    /// Copies from memory at risk, asking first; as [`Session::read`].
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn read(self, dst: &mut [u8], src: Untrusted<'_>, rest: Rest) -> Account {
        self.session().read(dst, src, rest)
    }

    /// Copies to memory at risk, asking first; as [`Session::write`].
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn write(self, dst: UntrustedMut<'_>, src: &[u8], rest: Rest) -> Account {
        self.session().write(dst, src, rest)
    }
}

/// Copies of one thread that survive faults. Stays with its thread, whose signal mask and stack were asked about.
///
/// ```compile_fail,E0277
/// # let session = copy_engine::fault::Session::without_handler();
/// std::thread::scope(|scope| { scope.spawn(|| session); });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Session {
    ready: Result<(), Unready>,
    routine: FaultRoutine,
    this_thread: PhantomData<*mut ()>,
}

impl Session {
    /// A session that copies through the kernel alone and installs nothing.
    pub const fn without_handler() -> Self {
        Self { ready: Err(Unready::NotInstalled), routine: FaultRoutine::Vector, this_thread: PhantomData }
    }

    /// The same session with another routine, for comparison.
    pub const fn with_routine(self, routine: FaultRoutine) -> Self {
        Self { routine, ..self }
    }

    /// Whether faults are survived by the handler.
    ///
    /// # Errors
    ///
    /// The reason why copies take the fallback.
    pub const fn ready(&self) -> Result<(), Unready> {
        self.ready
    }

    /// Copies from memory at risk.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline(always)]
    pub fn read(&self, dst: &mut [u8], src: Untrusted<'_>, rest: Rest) -> Account {
        assert_same_length(dst.len(), src.len());
        let start = dst.as_mut_ptr();
        // SAFETY: `dst` is borrowed exclusively and any bytes suit it; the source's constructor promised the rest.
        let account = unsafe { self.run(Trust::Destination, start, src.as_ptr(), src.len(), rest) };
        if account.left > 0 && rest == Rest::Zero {
            zero(&mut dst[account.copied()..]);
        }
        account
    }

    /// Copies from memory at risk into memory that need not be initialised, by the exact default routine; returns what was
    /// copied, which is initialised now, and the account.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn read_uninit<'d>(
        &self,
        dst: &'d mut [MaybeUninit<u8>],
        src: Untrusted<'_>,
    ) -> (&'d mut [u8], Account) {
        assert_same_length(dst.len(), src.len());
        let exact = self.with_routine(FaultRoutine::Vector);
        // SAFETY: `dst` is borrowed exclusively; the source's constructor promised the rest.
        let account = unsafe {
            exact.run(Trust::Destination, dst.as_mut_ptr().cast(), src.as_ptr(), src.len(), Rest::Leave)
        };
        let copied = &mut dst[..account.copied()];
        // SAFETY: the routine's count is exact, so each of these bytes has been written.
        (unsafe { &mut *(core::ptr::from_mut(copied) as *mut [u8]) }, account)
    }

    /// Copies to memory at risk. The rest is zeroed, where that is asked for, as far as it can be reached.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline(always)]
    pub fn write(&self, mut dst: UntrustedMut<'_>, src: &[u8], rest: Rest) -> Account {
        assert_same_length(dst.len(), src.len());
        let start = dst.as_mut_ptr();
        // SAFETY: `src` is borrowed; the destination's constructor promised the rest.
        unsafe { self.run(Trust::Source, start, src.as_ptr(), src.len(), rest) }
    }

    /// Copies between two ranges at risk. Where they overlap, the bytes of the overlap are unspecified.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn copy(&self, mut dst: UntrustedMut<'_>, src: Untrusted<'_>, rest: Rest) -> Account {
        assert_same_length(dst.len(), src.len());
        let start = dst.as_mut_ptr();
        // SAFETY: both constructors promised it.
        unsafe { self.run(Trust::Neither, start, src.as_ptr(), src.len(), rest) }
    }

    /// # Safety
    ///
    /// The side that is trusted is valid for its access of `len` bytes; what can be reached of the other may be touched.
    // Inlined, the account of a copy without a fault is made of what its caller looks at.
    #[inline(always)]
    unsafe fn run(&self, trust: Trust, dst: *mut u8, src: *const u8, len: usize, rest: Rest) -> Account {
        if let Err(unready) = self.ready {
            // SAFETY: the contract is the same.
            return unsafe { through_the_kernel(unready, trust, dst, src, len, rest) };
        }
        let mut outcome =
            handler::Outcome { retry: u64::from(rest != Rest::Inatomic), ..handler::Outcome::default() };
        // SAFETY: the session is ready, so the handler was in force on this thread; the ranges are the contract.
        let left = unsafe { handler::run(dst, src, len, &mut outcome, self.routine) };
        let way = Way::Handler(self.routine);
        if left == 0 {
            return Account { asked: len, left: 0, coarse: 0, counter: 0, fault: None, way };
        }
        if rest == Rest::Zero && !trust.destination() {
            // SAFETY: as above; the rest lies inside the destination.
            unsafe { handler::clear(dst.wrapping_add(len - left), left) };
        }
        let handler::Outcome { coarse, counter, .. } = outcome;
        Account { asked: len, left, coarse, counter, fault: Some(fault(&outcome)), way }
    }
}

/// The fault that a routine left behind.
#[cold]
fn fault(outcome: &handler::Outcome) -> Fault {
    Fault {
        cause: Cause::from_signal((outcome.cause >> 32) as i32, outcome.cause as u32 as i32),
        address: Some(outcome.address).filter(|&address| address != 0),
    }
}

#[cold]
fn zero(rest: &mut [u8]) {
    rest.fill(0);
}

/// Which side of a copy is known to be there.
#[derive(Clone, Copy)]
enum Trust {
    Source,
    Destination,
    Neither,
}

impl Trust {
    const fn destination(self) -> bool {
        matches!(self, Self::Destination)
    }
}

/// # Safety
///
/// As [`Session::run`].
#[cold]
unsafe fn through_the_kernel(
    unready: Unready,
    trust: Trust,
    dst: *mut u8,
    src: *const u8,
    len: usize,
    rest: Rest,
) -> Account {
    let by_call = match trust {
        Trust::Destination => process_vm::read,
        Trust::Source => process_vm::write,
        Trust::Neither => process_vm::copy,
    };
    // SAFETY: the contract is the same.
    let (left, fault) = unsafe { by_call(dst, src, len) };
    if left > 0 && rest == Rest::Zero && !trust.destination() {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut done = len - left;
        while done < len {
            let piece = (len - done).min(ZEROS.len());
            // SAFETY: the zeros are as long as the piece, which lies inside the destination.
            let (unwritten, _) = unsafe { process_vm::write(dst.wrapping_add(done), ZEROS.as_ptr(), piece) };
            done += piece - unwritten;
            if unwritten > 0 {
                break;
            }
        }
    }
    Account { asked: len, left, coarse: left, counter: left as u64, fault, way: Way::ProcessVm(unready) }
}

#[track_caller]
fn assert_same_length(dst: usize, src: usize) {
    assert!(dst == src, "copy of {src} bytes into a destination of {dst}: the lengths must be equal");
}
