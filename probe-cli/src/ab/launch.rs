//! One launch: everything held, everything attached, let go, waited for, read.

use std::time::{Duration, Instant};

use super::plan::{Plan, Side};
use crate::{
    error::{Error, Result},
    probe::{backend::Backend, scope::Scope},
    trace::{
        command::Traced,
        document::{self, Costs, SessionRow},
        ladder,
        resolve::Question,
    },
};

/// What one launch gave.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// From letting it begin to its end.
    pub wall: Duration,
    /// CPU time of it and its children.
    pub cpu: Duration,
    /// The same two of the load beside it, where that ended by itself.
    pub load: Option<[Duration; 2]>,
    /// What the live targets counted, one row a target.
    pub live: Vec<SessionRow>,
}

/// What is attached to in each launch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The questions; none where nothing is watched.
    pub questions: Vec<Question>,
    /// The only mechanism that is tried, where one was named.
    pub only: Option<Backend>,
    /// What the mechanisms cost.
    pub costs: Costs,
    /// Whose calls are counted, but for the processes.
    pub scope: Scope,
}

/// Does a launch of `side`; none where `stop` said to stop.
///
/// # Errors
///
/// A program is not there or ends with another status than 0, or nothing attaches.
pub fn launch(plan: &Plan, side: Side, watch: &Watch, stop: &dyn Fn() -> bool) -> Result<Option<Launch>> {
    let mut load = plan.beside().map(|load| Traced::hold_apart(load, plan.shown)).transpose()?;
    let mut subject = Traced::hold_apart(&plan.subject(side)?, plan.shown)?;
    let followed = load.iter().map(Traced::process).chain([subject.process()]).collect();
    let scope = Scope { followed, ..watch.scope.clone() };
    let tracer = ladder::attach(watch.questions.clone(), &scope, watch.only, &|_, _| !stop());
    if stop() {
        return Ok(None);
    }
    // It has answered before.
    if let Some(row) = tracer.rows().iter().find(|row| row.backend == Backend::None) {
        return Err(Error::NothingAttached(format!("{}: {}", row.question.target, row.reason)));
    }

    let begun = Instant::now();
    if let Some(load) = &load {
        load.go()?;
    }
    let let_go = Instant::now();
    subject.go()?;
    let Some(ended) = subject.wait(stop) else { return Ok(None) };
    if !ended.status.success() && !plan.may_fail {
        return Err(Error::LaunchFailed { side: side.name(), status: ended.status });
    }
    let load = match &mut load {
        None => None,
        Some(load) => {
            let enough = || stop() || begun.elapsed() >= plan.load_for;
            let done = load.wait(&enough);
            done.filter(|done| done.status.success() || plan.may_fail)
                .map(|done| [done.at.saturating_duration_since(begun), done.cpu])
        }
    };
    if stop() {
        return Ok(None);
    }
    let readings = tracer.read().map_err(Error::Refused)?;
    let rows = document::rows(tracer.rows(), &readings, &watch.costs);
    Ok(Some(Launch {
        wall: ended.at.saturating_duration_since(let_go),
        cpu: ended.cpu,
        load,
        live: crate::trace::text::merge(&rows),
    }))
}
