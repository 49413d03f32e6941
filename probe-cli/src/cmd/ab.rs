//! `probe-cli ab`: two commands or two states of a machine, launched in turn.

use std::{
    ffi::OsString,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use clap::{ArgAction, Args};
use nix::sys::signal::{SigSet, Signal};
use tokio::sync::watch;

use super::{
    Words,
    compare::percent,
    form::Form,
    interrupt,
    output::{Output, document, tool},
    progress::Bar,
    tracing::{calibration, duration, nothing_attached},
};
use crate::{
    ab::{
        self, Ab, SCHEMA, SideReport,
        launch::{Launch, Watch, launch},
        plan::{Plan, Side, order},
        state::{Undo, set_up},
    },
    compare::Verdict,
    error::{Error, Result},
    host,
    probe::{backend::Backend, refusal::Circumstances, scope::Scope, tracefs},
    report::{model::Warning, text::words::brief, timestamp::rfc3339},
    sys::privileges,
    trace::{
        cost::{self, Effort},
        ladder,
        resolve::Names,
    },
};

/// Put two commands, or two states of the machine, against each other: launched in turn, one verdict a row
///
/// Launches go A B B A, so that what drifts, drifts for both sides. Each is timed, with the live targets attached to it
/// and its children. Either --a and --b are two commands, and LOAD, if there is one, runs beside them; or --setup-a and
/// --setup-b are two states of the machine, and LOAD is what is launched in both.
///
/// Commands run as the invoking user and in no shell, unless they hold what only a shell can do. Set-up and undo are yours:
/// they run in a shell and with all rights that this program has. The undo runs once, at the end, after Ctrl-C and after
/// a failure too. Exits with 10 if a row of B regressed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli ab --a './old --bench' --b './new --bench'
  probe-cli ab --a 'sort -S 1M words' --b 'sort -S 64M words' syscall:read syscall:write
  probe-cli ab --setup-a 'sysctl -qw kernel.randomize_va_space=2' \\
               --setup-b 'sysctl -qw kernel.randomize_va_space=0' \\
               --undo 'sysctl -qw kernel.randomize_va_space=2' syscall:mmap -- ./program
  probe-cli ab --a ./old --b ./new syscall:getrandom -f md -- stress --cpu 1")]
pub(super) struct AbCommand {
    /// What to watch live in each launch, as for `probe-cli trace`; times alone without one
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// The command that is compared with
    #[arg(long, value_name = "CMD", requires = "b")]
    a: Option<String>,
    /// The command that is judged
    #[arg(long, value_name = "CMD", requires = "a")]
    b: Option<String>,
    /// Puts the machine into the state of A, before each launch of A
    #[arg(long, value_name = "CMD")]
    setup_a: Option<String>,
    /// Puts the machine into the state of B, before each launch of B
    #[arg(long, value_name = "CMD")]
    setup_b: Option<String>,
    /// Puts the machine back when all is over
    #[arg(long, value_name = "CMD")]
    undo: Option<String>,
    /// How long a set-up or the undo may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    setup_timeout: Duration,
    /// Launches of each side, five at least
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(5..=1000))]
    launches: u16,
    /// How long LOAD goes on beside a command that ends earlier; LOAD may end by itself before
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    load_for: Duration,
    /// Smallest change of interest
    #[arg(long, value_name = "PCT", default_value = "5%", value_parser = percent)]
    threshold: f64,
    /// Exit with 10 if a row regressed; `=false` only tells
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    fail_on_regression: bool,
    /// Go on when a launch ends with another status than 0
    #[arg(long)]
    ignore_failure: bool,
    /// Show what the commands print
    #[arg(long)]
    show_output: bool,
    /// Mount tracefs for everybody where it cannot be mounted for one thread alone; set-up commands are not asked
    #[arg(long)]
    allow_system_changes: bool,
    #[command(flatten)]
    output: Output<Form>,
    /// What runs beside the commands, or, without --a and --b, what is launched
    #[arg(last = true, value_name = "LOAD")]
    load: Vec<OsString>,
}

/// Longest reason why a target was left out.
const LONGEST: usize = 200;

impl AbCommand {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        let plan = self.plan()?;
        self.output.check()?;
        let undo = Undo::new(plan.undo.clone(), plan.patience);
        let (interrupted, leaving) = interrupted(&undo)?;
        let (watch, mut warnings) = self.watch(words)?;

        let started = rfc3339(SystemTime::now());
        let measured = self.launches(&plan, &watch, &undo, &interrupted, words);
        let undone = undo.now();
        if leaving.load(Ordering::SeqCst) {
            interrupt::leave();
        }
        let launches = match (measured, undone) {
            (Ok(launches), Ok(())) => launches,
            // Both are to be known: the machine is not as it was.
            (Err(error), Err(left)) => {
                words.say(&crate::error::chain(&left));
                return Err(error);
            }
            (Err(error), Ok(())) | (Ok(_), Err(error)) => return Err(error),
        };
        if let Some(text) = cut_short(&plan, &launches) {
            warnings.push(Warning { code: "load-cut-short".to_owned(), text });
        }
        let live = ab::judge::live(&launches);
        let probes_added = ab::judge::probes_added(&launches, &live);
        if let Some([a, b]) = probes_added.filter(|[a, b]| (a - b).abs() > self.threshold / 2.0) {
            let text = format!(
                "probes take {:.1} % of the time of A and {:.1} % of that of B, so the times of the two are not to be compared; \
                 launch once more without targets for these",
                a * 100.0,
                b * 100.0
            );
            warnings.push(Warning { code: "probes-weigh".to_owned(), text });
        }
        let [command_a, command_b] = plan.commands.map_or([None, None], |commands| commands.map(Some));
        let [setup_a, setup_b] = plan.setups;
        let load = plan.load.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>();
        let found = Ab {
            schema: SCHEMA.to_owned(),
            host: host::this_machine(),
            tool: tool(),
            started,
            interrupted: *interrupted.borrow(),
            a: SideReport { command: command_a, setup: setup_a },
            b: SideReport { command: command_b, setup: setup_b },
            load: (!load.is_empty()).then(|| shell_words::join(&load)),
            undo: plan.undo,
            pairs: launches.len(),
            threshold: self.threshold,
            rows: ab::judge::rows(&launches, self.threshold),
            probes_added,
            live,
            calibration: calibration(&watch.costs),
            warnings,
        };
        let page = match self.output.format {
            Form::Text => ab::table::text(&found, self.output.style(words)).into_bytes(),
            Form::Json => document(&found)?,
            Form::Csv => ab::table::csv(&found).into_bytes(),
            Form::Md => ab::table::markdown(&found).into_bytes(),
            Form::Html => ab::html::page(&found).into_bytes(),
        };
        self.output.deliver(&page, out)?;
        out.flush().map_err(Error::Stdout)?;
        match found.count(Verdict::Regression) {
            0 => Ok(()),
            _ if !self.fail_on_regression => Ok(()),
            rows => Err(Error::Regression { rows }),
        }
    }

    fn plan(&self) -> Result<Plan> {
        let commands = self.a.clone().zip(self.b.clone()).map(|(a, b)| [a, b]);
        let setups = [self.setup_a.clone(), self.setup_b.clone()];
        let usage = |text: &str| Err(Error::Usage(text.to_owned()));
        if commands.is_none() && self.load.is_empty() {
            return usage("there is nothing to launch: give --a CMD and --b CMD, or LOAD after --");
        }
        if commands.is_none() && setups.iter().all(Option::is_none) {
            return usage(
                "both sides are the same: give --a CMD and --b CMD, or --setup-a CMD and --setup-b CMD",
            );
        }
        let plan = Plan {
            commands,
            setups,
            undo: self.undo.clone(),
            load: self.load.clone(),
            load_for: self.load_for,
            patience: self.setup_timeout,
            launches: usize::from(self.launches),
            shown: self.show_output,
            may_fail: self.ignore_failure,
        };
        Side::BOTH.into_iter().try_for_each(|side| plan.subject(side).map(drop))?;
        Ok(plan)
    }

    /// What answers the targets here, and what it costs.
    fn watch(&self, words: Words) -> Result<(Watch, Vec<Warning>)> {
        // What this program does while it waits would be counted as well.
        let scope = Scope { excluded: std::process::id(), ..Scope::default() };
        let mut watch = Watch { questions: Vec::new(), only: None, costs: Vec::new(), scope };
        if self.targets.is_empty() {
            return Ok((watch, Vec::new()));
        }
        let resolved = Names::of_this_machine(None).resolve(&self.targets, false, true)?;
        let missing = Circumstances::read(Path::new("/")).missing_capabilities();
        if !missing.is_empty() {
            return Err(Error::Capabilities(missing));
        }
        tracefs::allow_system_changes(self.allow_system_changes);
        privileges::raise_open_files();

        words.detail("trying what answers the targets, and what that costs");
        let mut left_out = resolved.left_out;
        // Each launch attaches anew, to what has answered once: to a process of its own.
        let own = Scope { followed: vec![std::process::id()], ..Scope::default() };
        let tracer = ladder::attach(resolved.questions, &own, None, &|_, _| true);
        for row in tracer.rows() {
            match row.backend {
                Backend::None => {
                    left_out.push(format!("{}: {}", row.question.target, brief(&row.reason, LONGEST)));
                }
                Backend::Call => {
                    left_out.push(format!(
                        "{} is called and not watched: no launch has a part in it",
                        row.question.target
                    ));
                }
                _ => watch.questions.push(row.question.clone()),
            }
        }
        if watch.questions.is_empty() {
            return Err(nothing_attached(&tracer));
        }
        let backends = tracer.backends();
        drop(tracer);
        let warning = |code: &str, text| Warning { code: code.to_owned(), text };
        let mut warnings: Vec<Warning> = left_out.into_iter().map(|text| warning("left-out", text)).collect();
        for backend in backends.into_iter().filter(|backend| *backend != Backend::Call) {
            match cost::of(backend, Effort::BRIEF) {
                Ok(cost) => watch.costs.push((backend, cost)),
                Err(refusal) => warnings.push(warning("not-calibrated", format!("{backend}: {refusal}"))),
            }
        }
        Ok((watch, warnings))
    }

    /// Whole pairs, as many as were made.
    fn launches(
        &self,
        plan: &Plan,
        watch: &Watch,
        undo: &Undo,
        interrupted: &watch::Receiver<bool>,
        words: Words,
    ) -> Result<Vec<[Launch; 2]>> {
        let stop = || *interrupted.borrow();
        let bar = Bar::new(words, "ab");
        let mut pairs: Vec<[Launch; 2]> = Vec::new();
        let mut half: Option<Launch> = None;
        for (at, side) in order(plan.launches).enumerate() {
            bar.set(at as u64, 2 * plan.launches as u64);
            if let Some(command) = &plan.setups[side.index()] {
                undo.arm();
                match set_up(side, command, plan.patience, &stop) {
                    Err(_) if stop() => break,
                    done => done?,
                }
            }
            let Some(launch) = launch(plan, side, watch, &stop)? else { break };
            half = match (half.take(), side) {
                (None, _) => Some(launch),
                (Some(first), Side::B) => {
                    pairs.push([first, launch]);
                    None
                }
                (Some(first), Side::A) => {
                    pairs.push([launch, first]);
                    None
                }
            };
        }
        Ok(pairs)
    }
}

/// Signals that end a program end this one in order, as the first says; the second, which is told too, lets nothing
/// but the undo come before the end.
fn interrupted(undo: &Undo) -> Result<(watch::Receiver<bool>, Arc<AtomicBool>)> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    let leaving = Arc::new(AtomicBool::new(false));
    let (undo, leave) = (undo.clone(), leaving.clone());
    let last = move || {
        leave.store(true, Ordering::SeqCst);
        if let Err(error) = undo.now() {
            let _ = writeln!(std::io::stderr(), "{}", crate::error::chain(&error));
        }
    };
    Ok((interrupt::watch_and(signals, last)?, leaving))
}

/// A load that never came to its end says little by its own.
fn cut_short(plan: &Plan, launches: &[[Launch; 2]]) -> Option<String> {
    let cut = launches.iter().flatten().filter(|launch| launch.load.is_none()).count();
    (plan.beside().is_some() && cut > 0).then(|| {
        format!(
            "the load was ended in {cut} of {} launches, {} after its beginning or with the command; its own times are of \
             the other launches (--load-for gives it longer)",
            2 * launches.len(),
            humantime::format_duration(plan.load_for)
        )
    })
}
