//! Whether two runs measured the same thing on the same machine.

use crate::{
    report::model::{Host, Report, Tool},
    trace::document::Session,
};

/// What a run says of itself.
pub(super) struct Facts<'a> {
    pub(super) host: &'a Host,
    pub(super) tool: &'a Tool,
    pub(super) started: &'a str,
    clock: &'a str,
    /// `quick` or `full`; a session has neither.
    replication: &'static str,
    /// Whose calls were counted; a report has its own load.
    scope: &'a str,
}

impl<'a> From<&'a Report> for Facts<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            host: &report.host,
            tool: &report.tool,
            started: &report.started,
            clock: &report.clock.name,
            replication: if report.quick { "quick" } else { "full" },
            scope: "",
        }
    }
}

impl<'a> From<&'a Session> for Facts<'a> {
    fn from(session: &'a Session) -> Self {
        Self {
            host: &session.host,
            tool: &session.tool,
            started: &session.clock.started,
            clock: &session.clock.name,
            replication: "",
            scope: &session.scope,
        }
    }
}

/// Why nothing can be compared, and what differs without forbidding it.
pub(super) fn differences(base: &Facts<'_>, new: &Facts<'_>) -> (Vec<String>, Vec<String>) {
    let (one, other) = (base.host, new.host);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let forbidding = [
        ("another architecture", one.arch.clone(), other.arch.clone()),
        ("another CPU", text(&one.cpu_model), text(&other.cpu_model)),
        ("another number of CPUs", one.cpus.to_string(), other.cpus.to_string()),
        ("another clock", base.clock.to_owned(), new.clock.to_owned()),
        ("quick against full", base.replication.to_owned(), new.replication.to_owned()),
    ];
    let mut stops = told(forbidding);
    for name in one
        .mitigations
        .keys()
        .chain(other.mitigations.keys().filter(|name| !one.mitigations.contains_key(*name)))
    {
        let state = |mitigations: &std::collections::BTreeMap<String, String>| {
            mitigations.get(name).cloned().unwrap_or_else(|| "not told".to_owned())
        };
        let (before, after) = (state(&one.mitigations), state(&other.mitigations));
        if before != after {
            stops.push(format!("other mitigations: {name}, {before}, then {after}"));
        }
    }
    let allowed = told([
        ("scope", base.scope.to_owned(), new.scope.to_owned()),
        ("kernel", one.kernel.clone(), other.kernel.clone()),
        ("governor", text(&one.governor), text(&other.governor)),
        ("preemption", text(&one.preempt), text(&other.preempt)),
        ("huge pages", text(&one.thp), text(&other.thp)),
        ("microcode", text(&one.microcode), text(&other.microcode)),
        ("hypervisor", text(&one.virtualization), text(&other.virtualization)),
        ("command line", text(&one.cmdline), text(&other.cmdline)),
        ("program", base.tool.version.clone(), new.tool.version.clone()),
        ("commit", text(&base.tool.commit), text(&new.tool.commit)),
        ("compiler", base.tool.rustc.clone(), new.tool.rustc.clone()),
    ]);
    (stops, allowed)
}

fn told<const N: usize>(facts: [(&str, String, String); N]) -> Vec<String> {
    let differ = facts.into_iter().filter(|(_, before, after)| before != after);
    differ.map(|(what, before, after)| format!("{what}: {before}, then {after}")).collect()
}
