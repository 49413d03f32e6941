//! The machine, the program and the instruments: what another run must share to be compared with this one.

use maud::{Markup, html};

use super::wide;
use crate::report::{
    model::{Host, MechanismRow, ProbeCost, Report, Tool},
    number, refusal,
    text::safe,
};

pub(super) fn write(report: &Report) -> Markup {
    html! {
        section id="machine" {
            h2 { "Machine and instruments" }
            (warnings(report))
            (facts(&report.host))
            (mechanisms(&report.mechanisms))
            @if !report.calibration.is_empty() { (wide(&calibration(report))) }
            (program(&report.tool, report))
        }
    }
}

fn warnings(report: &Report) -> Markup {
    html! {
        @if !report.warnings.is_empty() {
            h3 { "Warnings" }
            ul.warnings {
                @for warning in &report.warnings {
                    li { b { (safe(&warning.code)) } ": " (refusal::short(&warning.text)) }
                }
            }
        }
    }
}

fn facts(host: &Host) -> Markup {
    let told = |field: &str, value: Option<String>| match value {
        Some(value) if !value.is_empty() => safe(&value),
        _ => host
            .unknown
            .get(field)
            .map_or_else(|| "not told".to_owned(), |why| format!("not told: {}", safe(why))),
    };
    let text = |field: &str, value: &Option<String>| told(field, value.clone());
    let caches: Vec<String> = host
        .caches
        .iter()
        .map(|cache| {
            format!(
                "L{} {} {}",
                cache.level,
                safe(&cache.kind).to_lowercase(),
                number::bytes(cache.size_bytes)
            )
        })
        .collect();
    let rows = [
        ("kernel", told("kernel", Some(host.kernel.clone()))),
        ("architecture", safe(&host.arch)),
        ("CPU", text("cpu_model", &host.cpu_model)),
        ("CPUs online", host.cpus.to_string()),
        (
            "sibling threads",
            told("smt", host.smt.map(|smt| if smt { "active" } else { "not active" }.to_owned())),
        ),
        ("NUMA nodes", told("numa_nodes", host.numa_nodes.map(|nodes| nodes.to_string()))),
        ("caches", told("caches", Some(caches.join(", ")))),
        ("memory", told("memory_bytes", host.memory_bytes.map(|bytes| format!("{} MiB", bytes >> 20)))),
        ("microcode", text("microcode", &host.microcode)),
        ("clock source", text("clocksource", &host.clocksource)),
        ("governor", text("governor", &host.governor)),
        ("hypervisor or container", text("virtualization", &host.virtualization)),
        ("preemption", text("preempt", &host.preempt)),
        ("transparent huge pages", text("thp", &host.thp)),
        ("address-space randomisation", told("aslr", host.aslr.map(|level| level.to_string()))),
        ("lockdown", text("lockdown", &host.lockdown)),
        ("kernel command line", text("cmdline", &host.cmdline)),
    ];
    html! {
        (wide(&html! {
            table.facts {
                caption { "Machine" }
                tbody {
                    @for (name, value) in rows { tr { th scope="row" { (name) } td { (value) } } }
                    @for (name, state) in &host.mitigations {
                        tr { th scope="row" { "mitigation: " (safe(name)) } td { (safe(state)) } }
                    }
                }
            }
        }))
    }
}

fn mechanisms(rows: &[MechanismRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            (wide(&html! {
                table {
                    caption { "Ways to watch the kernel, each tried on this machine" }
                    thead { tr {
                        th scope="col" { "mechanism" } th scope="col" { "works" }
                        th scope="col" { "what was seen" } th scope="col" { "next step" }
                    } }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" { (safe(&row.name)) small { (safe(&row.what)) } }
                                td { @if row.works { span.badge.good { "✓ yes" } } @else { span.badge.doubt { "– no" } } }
                                td {
                                    @if let Some(tried) = &row.tried { (safe(tried)) ": " }
                                    (safe(&row.reason))
                                }
                                td { (row.remedy.as_deref().map_or_else(String::new, safe)) }
                            }
                        }
                    }
                }
            }))
        }
    }
}

fn calibration(report: &Report) -> Markup {
    html! {
        table {
            caption { "What one hit of each kind of probe costs here, ns" }
            thead { tr {
                th scope="col" { "probe" }
                th.n scope="col" { "p50" } th.n scope="col" { "p99" } th.n scope="col" { "n" }
            } }
            tbody {
                @for (kind, ProbeCost { p50_ns, p99_ns, n }) in &report.calibration {
                    tr {
                        th scope="row" { (safe(kind)) }
                        @for value in [p50_ns, p99_ns, n] { td.n { (number::count(*value)) } }
                    }
                }
            }
        }
    }
}

fn program(tool: &Tool, report: &Report) -> Markup {
    html! {
        footer {
            "probe-cli " (safe(&tool.version)) ", " (tool.commit.as_deref().map_or_else(|| "commit unknown".to_owned(), safe))
            ", " (safe(&tool.rustc)) " · clock " (safe(&report.clock.name)) ", "
            (number::significant(report.clock.ticks_per_second / 1e6)) " MHz, floor "
            (number::time(report.clock.floor_ns, "ns")) " · " (safe(&report.schema))
        }
    }
}
