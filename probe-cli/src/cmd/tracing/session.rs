//! A session from its flags to its last word: resolve, hold the program, attach, let go, count, tell.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use probe_abi::size::{self, Classes};
use tokio::sync::watch;

use super::arguments::Arguments;
use super::stacks::Stacks;
use super::stream::Stream;
use super::whose;
use crate::cmd::output::tool;
use crate::cmd::progress::Bar;
use crate::cmd::{Words, interrupt};
use crate::error::{Error, Result};
use crate::host::{self, Tree};
use crate::probe::refusal::{Circumstances, Refusal};
use crate::probe::scope::Scope;
use crate::probe::tracefs;
use crate::report::model::{ProbeCost, Warning};
use crate::report::timestamp::rfc3339;
use crate::sys::privileges::{self, Capability};
use crate::trace::command::Traced;
use crate::trace::cost::{self, Effort};
use crate::trace::document::{self, Costs, Interval, SCHEMA, Session, SessionClock, SessionRow, SlowRow};
use crate::trace::ladder;
use crate::trace::resolve::{Names, Question, Resolved};
use crate::trace::text;
use crate::trace::tracer::{Reading, Tracer};

/// What is wanted of the calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::cmd) enum Kind {
    /// How long they take.
    Trace,
    /// How many they are.
    Count,
    /// How long they take, by size.
    Heatmap,
    /// Single ones that take long.
    Slow,
}

/// Between two looks at whether it is over.
const TICK: Duration = Duration::from_millis(10);
/// Between two looks at how often targets are hit, and at threads that have ended; the first look is earlier.
const LOOK: Duration = Duration::from_secs(1);
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// Hits in a second at which a probe is no cheap guest any more.
const MAX_RATE: u64 = 200_000;
/// Samples of a primitive that is called.
const SAMPLES: u32 = 200;
/// Slow calls that a document holds.
const SLOWEST: usize = 10_000;

/// Runs a session. `slow_ns` is from where a call is slow.
pub(in crate::cmd) fn run(
    arguments: &Arguments,
    kind: Kind,
    slow_ns: u64,
    words: Words,
    out: &mut dyn Write,
) -> Result<()> {
    let stream = Stream::new(arguments, kind, words, out);
    let names = Names::of_this_machine(arguments.pid);
    let resolved = names.resolve(&arguments.targets, arguments.regex, kind != Kind::Count)?;
    let mut scope = Scope { slow_ns, count_only: kind == Kind::Count, ..whose::scope(arguments)? };
    if kind == Kind::Heatmap {
        scope.classes = Classes::BySize;
    }
    if arguments.dry_run {
        return would(&resolved, arguments, out_of(stream));
    }
    stream.check()?;
    let missing = Circumstances::read(Path::new("/")).missing_capabilities();
    if !missing.is_empty() {
        return Err(Error::Capabilities(missing));
    }
    sizes_are_known(&resolved.questions, &scope)?;
    for why in &resolved.left_out {
        words.say(&format!("left out: {why}"));
    }
    let interrupted = interrupt::watch()?;
    tracefs::allow_system_changes(arguments.allow_system_changes);
    privileges::raise_open_files();

    let mut command = match &arguments.command[..] {
        [] => None,
        command => Some(Traced::hold(command)?),
    };
    if let Some(command) = &command {
        scope.followed = vec![command.process()];
    }
    let left_out = resolved.left_out.iter().map(|why| warning("left-out", why.clone()));
    let mut warnings: Vec<Warning> = left_out.collect();
    let (tracer, scope) = attach(resolved.questions, scope, arguments, &interrupted, words, &mut warnings)?;
    remark(&tracer, words);
    // Intervals are told with their costs, which are then measured before; else it is done when all is over.
    let early = arguments.interval.is_some().then(|| costs(&tracer, kind, &mut warnings));
    drop_privileges(arguments, kind, early.is_none());

    let mut run = Run {
        arguments,
        kind,
        guard: guard(arguments, &scope),
        interrupted,
        stacks: (kind == Kind::Slow).then(|| Stacks::new(names.symbols())),
        costs: early.unwrap_or_default(),
        intervals: Vec::new(),
        slow: Vec::new(),
        slow_left_out: 0,
        hot: None,
        tracer,
        stream,
    };
    run.stream.ready(run.tracer.rows())?;
    let started = SystemTime::now();
    if let Some(command) = &command {
        command.go()?;
    }
    words.detail("everything is attached");
    if command.is_none() && arguments.duration.is_none() && run.tracer.is_live() {
        words.say("tracing; Ctrl-C ends it");
    }
    let begun = Instant::now();
    let cut_short = run.count(begun, command.as_mut())?;
    let duration = begun.elapsed();
    let mut readings = run.tracer.read().map_err(Error::Refused)?;
    run.drain()?;
    drop(command);
    run.tracer.call(SAMPLES, &mut readings).map_err(Error::Refused)?;
    let Run { tracer, mut costs, intervals, slow, slow_left_out, hot, stream, .. } = run;
    if arguments.interval.is_none() {
        costs = self::costs(&tracer, kind, &mut warnings);
    }
    if slow_left_out > 0 {
        let text = format!("{slow_left_out} more slow calls are not in this document, which holds {SLOWEST}");
        warnings.push(warning("slow-calls-left-out", text));
    }
    warnings.extend(hot.iter().map(|text| warning("rate-guard", text.clone())));
    warnings.extend(answered_without_the_kernel(&tracer));
    let mut targets = document::rows(tracer.rows(), &readings, &costs);
    if arguments.merge {
        targets = text::merge(&targets);
    }
    // Nothing is attached any more while the rest is written.
    drop(tracer);
    let session = Session {
        schema: SCHEMA.to_owned(),
        host: host::this_machine(),
        tool: tool(),
        clock: SessionClock {
            name: "monotonic".to_owned(),
            started: rfc3339(started),
            duration_ns: nanoseconds(duration),
        },
        scope: whose::words(&scope, arguments),
        interrupted: cut_short || hot.is_some(),
        calibration: calibration(&costs),
        targets,
        intervals,
        slow,
        warnings,
    };
    stream.end(&session)?;
    verdict(&session.targets, arguments.strict, hot)
}

fn warning(code: &str, text: String) -> Warning {
    Warning { code: code.to_owned(), text }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn out_of<'a>(stream: Stream<'a>) -> &'a mut dyn Write {
    stream.into_out()
}

/// What would be attached to, in the order it would be tried.
fn would(resolved: &Resolved, arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let mut page = String::new();
    for question in &resolved.questions {
        page += &format!("{}\n", crate::report::text::safe(&question.target));
        let ways =
            question.ways.iter().filter(|way| arguments.only().is_none_or(|only| way.backend() == only));
        for way in ways {
            page += &format!("    {} by {}\n", crate::report::text::safe(&way.what()), way.backend());
        }
    }
    for why in &resolved.left_out {
        page += &format!("left out: {}\n", crate::report::text::safe(why));
    }
    out.write_all(page.as_bytes()).map_err(Error::Stdout)
}

/// A condition on sizes is fulfilled by no call whose size nobody knows.
fn sizes_are_known(questions: &[Question], scope: &Scope) -> Result<()> {
    let unknown = questions.iter().find(|question| !question.ways.iter().any(|way| way.knows_sizes()));
    match unknown {
        Some(question) if scope.sizes.is_some() => Err(Error::Usage(format!(
            "--if asks for sizes, and where the size of {} is nobody knows",
            question.target
        ))),
        _ => Ok(()),
    }
}

fn attach(
    questions: Vec<Question>,
    scope: Scope,
    arguments: &Arguments,
    interrupted: &watch::Receiver<bool>,
    words: Words,
    warnings: &mut Vec<Warning>,
) -> Result<(Tracer, Scope)> {
    let bar = Bar::attaching(words);
    let progress = |done: usize, all: usize| {
        bar.set(done as u64, all as u64);
        !*interrupted.borrow()
    };
    let tracer = ladder::attach(questions, &scope, arguments.only(), &progress);
    if tracer.answers() {
        return Ok((tracer, scope));
    }
    // The children cannot be followed where the kernel may not be read; the program itself still can.
    if let Some(&process) = scope.followed.first() {
        let alone = Scope { followed: Vec::new(), process, ..scope };
        let questions = tracer.rows().iter().map(|row| row.question.clone()).collect();
        let again = ladder::attach(questions, &alone, arguments.only(), &progress);
        if again.answers() {
            let text =
                "children of the program are not followed: this kernel does not let them be seen".to_owned();
            words.say(&text);
            warnings.push(warning("children-not-followed", text));
            return Ok((again, alone));
        }
    }
    if *interrupted.borrow() {
        return Err(Error::Usage("interrupted before anything was attached".to_owned()));
    }
    Err(nothing_attached(&tracer))
}

pub(in crate::cmd) fn nothing_attached(tracer: &Tracer) -> Error {
    let refusals: Vec<&Refusal> = tracer.rows().iter().flat_map(|row| &row.refusals).collect();
    let row = tracer.rows().first();
    let why = row.map_or_else(String::new, |row| row.reason.clone());
    let of_environment = refusals.iter().any(|refusal| refusal.cause.is_of_environment());
    if of_environment {
        return Error::NothingAttached(why);
    }
    let target = row.map_or_else(String::new, |row| row.question.target.clone());
    Error::NotTraceable { target, why }
}

/// Says which targets nothing answers, and in detail what answers the others.
fn remark(tracer: &Tracer, words: Words) {
    for row in tracer.rows() {
        let text = format!("{}: {}", row.question.target, row.reason);
        if row.backend == crate::probe::backend::Backend::None {
            words.say(&crate::report::text::safe(&text));
        } else {
            words.detail(&crate::report::text::safe(&text));
        }
    }
}

/// What each mechanism in use costs. Nothing is timed where calls are counted only.
fn costs(tracer: &Tracer, kind: Kind, warnings: &mut Vec<Warning>) -> Costs {
    if kind == Kind::Count {
        return Vec::new();
    }
    let mut costs = Costs::new();
    for backend in tracer.backends() {
        match cost::of(backend, Effort::BRIEF) {
            Ok(cost) => costs.push((backend, cost)),
            Err(refusal) => warnings.push(warning("not-calibrated", format!("{backend}: {refusal}"))),
        }
    }
    costs
}

pub(in crate::cmd) fn calibration(costs: &Costs) -> std::collections::BTreeMap<String, ProbeCost> {
    let calls = u64::from(Effort::BRIEF.calls * Effort::BRIEF.rounds);
    costs
        .iter()
        .filter_map(|(backend, cost)| {
            let floor_ns = cost.floor_ns?;
            let cost =
                ProbeCost { p50_ns: floor_ns, p99_ns: cost.floor_p99_ns.unwrap_or(floor_ns), n: calls };
            Some((format!("{backend}-floor"), cost))
        })
        .collect()
}

/// From here on only what is still to be done can be done.
fn drop_privileges(arguments: &Arguments, kind: Kind, costs_are_to_come: bool) {
    // Files are opened as their owner, and the program is told to end.
    let mut kept = vec![Capability::SetUid, Capability::SetGid, Capability::Kill];
    if costs_are_to_come {
        kept.extend([Capability::Bpf, Capability::PerfMon, Capability::SysAdmin, Capability::SysLog]);
    }
    if arguments.output.is_some() || arguments.save.is_some() || kind == Kind::Slow {
        kept.push(Capability::DacOverride);
    }
    if kind == Kind::Slow {
        kept.push(Capability::SysPtrace);
    }
    privileges::keep(&kept);
}

fn guard(arguments: &Arguments, scope: &Scope) -> Option<u64> {
    match arguments.max_rate {
        _ if arguments.yes => None,
        Some(rate) => Some(rate),
        None => whose::is_everybody(scope).then_some(MAX_RATE),
    }
}

/// Programs may be answered from the vDSO, and the kernel then never knows.
fn answered_without_the_kernel(tracer: &Tracer) -> Option<Warning> {
    let asked = ["syscall:getrandom", "random:getrandom"];
    let row = tracer.rows().iter().find(|row| asked.contains(&row.question.target.as_str()))?;
    host::vdso::has_getrandom(&Tree::system()).ok()?.then(|| {
        let text = format!(
            "this kernel can answer getrandom from the vDSO, without being entered: the C library (glibc 2.41 and newer) \
             then draws most numbers unseen, and {} counts only those that entered the kernel",
            row.question.target
        );
        warning("vdso-getrandom", text)
    })
}

fn verdict(rows: &[SessionRow], strict: Option<f64>, hot: Option<String>) -> Result<()> {
    if let Some(text) = hot {
        return Err(Error::Quality(text));
    }
    let Some(limit) = strict else { return Ok(()) };
    match document::worst_loss(rows) {
        Some((target, share)) if share * 100.0 > limit => Err(Error::Quality(format!(
            "{:.2} % of the calls of {target} were lost or unmatched, more than the {limit} % of --strict",
            share * 100.0
        ))),
        _ => Ok(()),
    }
}

/// A session that is counting.
struct Run<'a> {
    arguments: &'a Arguments,
    kind: Kind,
    guard: Option<u64>,
    interrupted: watch::Receiver<bool>,
    stacks: Option<Stacks>,
    costs: Costs,
    intervals: Vec<Interval>,
    slow: Vec<SlowRow>,
    slow_left_out: usize,
    /// What the rate guard saw, when it did.
    hot: Option<String>,
    tracer: Tracer,
    stream: Stream<'a>,
}

impl Run<'_> {
    /// Counts until it is over; whether it was cut short by Ctrl-C.
    fn count(&mut self, begun: Instant, mut command: Option<&mut Traced>) -> Result<bool> {
        if !self.tracer.is_live() {
            return Ok(false);
        }
        // Counting began when all was attached, a little before this.
        let mut before = vec![Reading::default(); self.tracer.rows().len()];
        let (mut from, mut seen) = (Duration::ZERO, (Duration::ZERO, before.clone()));
        let mut look = FIRST_LOOK;
        loop {
            let passed = begun.elapsed();
            let over = self.arguments.duration.is_some_and(|duration| passed >= duration)
                || command.as_mut().is_some_and(|command| command.ended().is_some())
                || self.process_is_gone();
            let interrupted = *self.interrupted.borrow();
            self.drain()?;
            if passed >= look || over {
                let readings = self.tracer.read().map_err(Error::Refused)?;
                self.hot = self.too_hot(&seen.1, &readings, passed.saturating_sub(seen.0));
                seen = (passed, readings);
                look = passed + LOOK;
            }
            let end = over || interrupted || self.hot.is_some();
            if let Some(interval) = self.arguments.interval
                && (passed >= from + interval || end && passed > from)
            {
                let readings = self.tracer.read().map_err(Error::Refused)?;
                self.tell(from, passed, &before, &readings)?;
                (before, from) = (readings, passed);
            }
            if end {
                return Ok(interrupted);
            }
            let left = |until: Duration| until.saturating_sub(passed);
            let mut pause = TICK;
            pause = self.arguments.duration.map_or(pause, |duration| pause.min(left(duration)));
            pause = self.arguments.interval.map_or(pause, |interval| pause.min(left(from + interval)));
            std::thread::sleep(pause.max(Duration::from_micros(100)));
        }
    }

    fn process_is_gone(&self) -> bool {
        let gone = |number: u32| !Path::new(&format!("/proc/{number}")).exists();
        self.arguments.pid.is_some_and(gone) || self.arguments.tid.is_some_and(gone)
    }

    fn tell(&mut self, from: Duration, to: Duration, before: &[Reading], now: &[Reading]) -> Result<()> {
        let deltas: Vec<Reading> = now.iter().zip(before).map(|(now, before)| now.since(before)).collect();
        let mut targets = document::rows(self.tracer.rows(), &deltas, &self.costs);
        if self.arguments.merge {
            targets = text::merge(&targets);
        }
        let interval = Interval {
            from_ns: nanoseconds(from),
            to_ns: nanoseconds(to),
            ended: rfc3339(SystemTime::now()),
            targets,
        };
        self.stream.interval(&interval)?;
        // A stream has them already, and a long session must not grow.
        let keeps = self.arguments.save.is_some() || self.stream.is_document();
        if keeps || self.intervals.is_empty() {
            self.intervals.push(interval);
        }
        Ok(())
    }

    fn too_hot(&self, before: &[Reading], now: &[Reading], passed: Duration) -> Option<String> {
        let limit = self.guard?;
        let rate = |(now, before): (&Reading, &Reading)| {
            let hits = now.target.total().n().saturating_sub(before.target.total().n());
            hits as f64 / passed.as_secs_f64().max(1e-3)
        };
        let rows = self.tracer.rows().iter().zip(now.iter().zip(before).map(rate));
        let (row, rate) = rows.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (rate > limit as f64).then(|| {
            format!(
                "{} is hit {} times a second, more than {}: the probe would slow everybody down; name a process, \
                 raise --max-rate, or say --yes",
                row.question.target,
                text::grouped(rate as u64),
                text::grouped(limit)
            )
        })
    }

    /// Tells the slow calls that have ended.
    fn drain(&mut self) -> Result<()> {
        let Some(stacks) = &mut self.stacks else { return Ok(()) };
        for slow in self.tracer.drain_slow_calls() {
            let call = slow.call;
            let (size_lo, size_hi) = match slow.class.map(size::bounds) {
                Some((lo, hi)) => (Some(lo), hi),
                None => (None, None),
            };
            let row = SlowRow {
                target: self.tracer.rows()[slow.row].question.target.clone(),
                end_ns: call.end_ns,
                elapsed_ns: call.elapsed_ns,
                pid: call.process,
                tid: call.thread,
                comm: document::comm_text(&call.comm),
                cpu: call.cpu,
                size_lo,
                size_hi,
                kernel_stack: stacks.kernel(&call.kernel_stack),
                user_stack: stacks.user(call.process, &call.user_stack),
            };
            self.stream.slow(&row)?;
            if self.slow.len() < SLOWEST {
                self.slow.push(row);
            } else {
                self.slow_left_out += 1;
            }
        }
        debug_assert!(self.kind == Kind::Slow, "only then there are stacks");
        Ok(())
    }
}
