//! From the fastest way to ask the kernel to the last resort.

use super::Error;
use crate::vdso::Errno;

/// What to do if the kernel's generator has no seed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseeded {
    Wait,
    Fail,
}

/// The ways to ask, each for the beginning of `out`. An answer is a number of bytes, at least one if any were asked for.
pub(super) trait Ways {
    /// The function in the vDSO; `None` where there is none.
    fn vdso(&mut self, out: &mut [u8], unseeded: Unseeded) -> Option<Result<usize, Errno>>;
    /// The system call.
    fn call(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno>;
    /// The device file.
    fn device(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno>;
}

/// Fills all of `out` by the first way that works.
///
/// Signals interrupt long and waiting calls: these go on. An answer that says "not yet" is final. Any other error, and
/// an answer of no bytes, is of the way and not of the moment: the next way is taken.
pub(super) fn fill(ways: &mut impl Ways, out: &mut [u8], unseeded: Unseeded) -> Result<(), Error> {
    let mut left = out;
    if let Some(Done::All) = drain(&mut left, |out| ways.vdso(out, unseeded))? {
        return Ok(());
    }
    let call = match drain(&mut left, |out| Some(ways.call(out, unseeded)))? {
        Some(Done::Refused(errno)) => errno,
        _ => return Ok(()),
    };
    match drain(&mut left, |out| Some(ways.device(out, unseeded)))? {
        Some(Done::Refused(device)) => Err(Error::Refused { call, device }),
        _ => Ok(()),
    }
}

enum Done {
    All,
    Refused(Errno),
}

/// Asks one way until all is filled or it refuses; `None` if there is no such way.
#[inline]
fn drain(
    left: &mut &mut [u8],
    mut ask: impl FnMut(&mut [u8]) -> Option<Result<usize, Errno>>,
) -> Result<Option<Done>, Error> {
    while !left.is_empty() {
        match ask(left) {
            None => return Ok(None),
            Some(Ok(0)) => return Ok(Some(Done::Refused(Errno(libc::EIO)))),
            Some(Ok(filled)) => *left = &mut core::mem::take(left)[filled..],
            Some(Err(Errno(libc::EINTR))) => {}
            Some(Err(Errno(libc::EAGAIN))) => return Err(Error::NotSeeded),
            Some(Err(errno)) => return Ok(Some(Done::Refused(errno))),
        }
    }
    Ok(Some(Done::All))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use alloc::{collections::VecDeque, vec, vec::Vec};

    use super::*;

    /// What a way answers, in turn; a number fills so many bytes with the way's letter.
    type Script = VecDeque<Result<usize, i32>>;

    #[derive(Default)]
    struct Scripted {
        vdso: Option<Script>,
        call: Script,
        device: Script,
        waits: Vec<Unseeded>,
    }

    fn play(script: &mut Script, letter: u8, out: &mut [u8]) -> Result<usize, Errno> {
        let answer = script.pop_front().expect("the script says what comes now").map_err(Errno)?;
        out[..answer].fill(letter);
        Ok(answer)
    }

    impl Ways for Scripted {
        fn vdso(&mut self, out: &mut [u8], unseeded: Unseeded) -> Option<Result<usize, Errno>> {
            self.waits.push(unseeded);
            self.vdso.as_mut().map(|script| play(script, b'v', out))
        }
        fn call(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno> {
            self.waits.push(unseeded);
            play(&mut self.call, b'c', out)
        }
        fn device(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno> {
            self.waits.push(unseeded);
            play(&mut self.device, b'd', out)
        }
    }

    type Answers<'a> = &'a [Result<usize, i32>];

    /// Ten bytes; all scripts have to be played to their end.
    fn filled(vdso: Option<Answers>, call: Answers, device: Answers) -> Result<Vec<u8>, Error> {
        let script = |answers: Answers| answers.iter().copied().collect::<Script>();
        let mut ways = Scripted {
            vdso: vdso.map(script),
            call: script(call),
            device: script(device),
            ..Scripted::default()
        };
        let mut out = vec![b'-'; 10];
        let result = fill(&mut ways, &mut out, Unseeded::Wait);
        assert!(ways.vdso.unwrap_or_default().is_empty() && ways.call.is_empty() && ways.device.is_empty());
        result.map(|()| out)
    }

    #[test]
    fn the_first_way_that_works_is_taken() {
        assert_eq!(filled(Some(&[Ok(10)]), &[], &[]).unwrap(), b"vvvvvvvvvv");
        assert_eq!(filled(None, &[Ok(10)], &[]).unwrap(), b"cccccccccc");
        assert_eq!(filled(None, &[Err(libc::ENOSYS)], &[Ok(10)]).unwrap(), b"dddddddddd");
        assert_eq!(filled(Some(&[Err(libc::EPERM)]), &[Err(libc::EPERM)], &[Ok(10)]).unwrap(), b"dddddddddd");
    }

    #[test]
    fn short_and_interrupted_answers_go_on() {
        assert_eq!(filled(Some(&[Ok(3), Err(libc::EINTR), Ok(7)]), &[], &[]).unwrap(), b"vvvvvvvvvv");
        assert_eq!(filled(None, &[Err(libc::EINTR), Ok(1), Ok(9)], &[]).unwrap(), b"cccccccccc");
        let device = [Err(libc::EINTR), Ok(4), Ok(6)];
        assert_eq!(filled(None, &[Err(libc::ENOSYS)], &device).unwrap(), b"dddddddddd");
    }

    #[test]
    fn a_way_that_gives_out_is_followed_by_the_next() {
        let call = [Ok(2), Err(libc::EFAULT)];
        assert_eq!(filled(Some(&[Ok(5), Err(libc::ENOSYS)]), &call, &[Ok(3)]).unwrap(), b"vvvvvccddd");
        assert_eq!(filled(Some(&[Ok(0)]), &[Ok(10)], &[]).unwrap(), b"cccccccccc");
    }

    #[test]
    fn not_yet_is_final_in_every_way() {
        assert_eq!(filled(Some(&[Err(libc::EAGAIN)]), &[], &[]), Err(Error::NotSeeded));
        assert_eq!(filled(None, &[Ok(4), Err(libc::EAGAIN)], &[]), Err(Error::NotSeeded));
        assert_eq!(filled(None, &[Err(libc::ENOSYS)], &[Err(libc::EAGAIN)]), Err(Error::NotSeeded));
    }

    #[test]
    fn an_error_tells_both_reasons() {
        let error = filled(None, &[Err(libc::EPERM)], &[Err(libc::ENOENT)]).unwrap_err();
        assert_eq!(error, Error::Refused { call: Errno(libc::EPERM), device: Errno(libc::ENOENT) });
        let text = alloc::string::ToString::to_string(&error);
        assert!(text.contains("not permitted") && text.contains("No such file"), "{text}");
        let ended = filled(None, &[Err(libc::ENOSYS)], &[Ok(4), Ok(0)]).unwrap_err();
        assert_eq!(ended, Error::Refused { call: Errno(libc::ENOSYS), device: Errno(libc::EIO) });
    }

    #[test]
    fn whether_to_wait_is_told_to_every_way() {
        for unseeded in [Unseeded::Wait, Unseeded::Fail] {
            let mut ways = Scripted {
                call: [Err(libc::ENOSYS)].into_iter().collect(),
                device: [Ok(1)].into_iter().collect(),
                ..Scripted::default()
            };
            fill(&mut ways, &mut [0], unseeded).unwrap();
            assert_eq!(ways.waits, [unseeded; 3]);
        }
    }

    #[test]
    fn for_nothing_nobody_is_asked() {
        fill(&mut Scripted::default(), &mut [], Unseeded::Wait).unwrap();
    }
}
