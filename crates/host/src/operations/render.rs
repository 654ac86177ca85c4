//! Metrics as text, in the format that Prometheus reads (version 0.0.4).

use std::fmt::Write as _;
use std::time::UNIX_EPOCH;

use tokio::runtime::Handle;

use super::count::BOUNDS;
use super::metrics::{Decision, Dropped, METHODS, Metrics, name};

/// A page in the making. Writing to a string does not fail, so what `write!` says is not looked at.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"{}\"", escaped(text));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) fn render(metrics: &Metrics) -> String {
    let mut page = Page(String::with_capacity(4096));
    process(metrics, &mut page);
    exchanges(metrics, &mut page);
    calls(metrics, &mut page);
    durations(metrics, &mut page);
    servers(metrics, &mut page);
    states(metrics, &mut page);
    page.0
}

fn process(metrics: &Metrics, page: &mut Page) {
    page.family("contexture_build_info", "gauge", "Always 1; the version is a label.");
    page.line("contexture_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let started = metrics.started.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    page.family("process_start_time_seconds", "gauge", "When the gateway started, in seconds since 1970.");
    page.line("process_start_time_seconds", &[], started.unwrap_or_default().as_secs_f64());
    page.family("contexture_draining", "gauge", "Whether the gateway is about to end.");
    page.line("contexture_draining", &[], u8::from(metrics.is_draining()));
    // Whoever runs this on another runtime has no number for it.
    if let Ok(runtime) = Handle::try_current() {
        page.family("contexture_tasks", "gauge", "Tasks of the runtime.");
        page.line("contexture_tasks", &[], runtime.metrics().num_alive_tasks());
    }
    page.family("contexture_calls_in_flight", "gauge", "Requests of clients that are being answered.");
    page.line("contexture_calls_in_flight", &[], metrics.in_flight.get());
    page.family("contexture_sessions", "gauge", "Legacy sessions over HTTP.");
    page.line("contexture_sessions", &[], metrics.session_count());
    let parked = metrics.source().map_or(0, |source| source.parked());
    page.family(
        "contexture_parked_calls",
        "gauge",
        "Calls that wait for a client to come back with an answer.",
    );
    page.line("contexture_parked_calls", &[], parked);
    page.family(
        "contexture_dropped_total",
        "counter",
        "What was not kept: there was too much of it, or nowhere to put it.",
    );
    for what in Dropped::ALL {
        page.line("contexture_dropped_total", &[("what", what.word())], metrics.dropped_count(what));
    }
}

fn exchanges(metrics: &Metrics, page: &mut Page) {
    page.family("contexture_exchanges_total", "counter", "Requests of clients that were answered.");
    for (method, outcome, count) in metrics.exchanges.rows() {
        page.line("contexture_exchanges_total", &[("method", method), ("outcome", outcome)], count);
    }
}

fn calls(metrics: &Metrics, page: &mut Page) {
    page.family("contexture_upstream_calls_total", "counter", "Requests to the servers behind the gateway.");
    for (server, counts) in metrics.all_servers() {
        for (method, outcome, count) in counts.calls.rows() {
            let labels = [("server", server.as_str()), ("method", method), ("outcome", outcome)];
            page.line("contexture_upstream_calls_total", &labels, count);
        }
    }
}

fn durations(metrics: &Metrics, page: &mut Page) {
    let family = "contexture_upstream_call_duration_seconds";
    page.family(family, "histogram", "How long they took.");
    let bounds = BOUNDS.map(|micros| (micros as f64 / 1e6).to_string());
    for (server, counts) in metrics.all_servers() {
        for (row, took) in counts.took.iter().enumerate().take(METHODS.len()) {
            let counts = took.cumulative();
            let all = counts[BOUNDS.len()];
            if all == 0 {
                continue;
            }
            let labels = [("server", server.as_str()), ("method", name(row))];
            for (bound, count) in bounds.iter().map(String::as_str).chain(["+Inf"]).zip(counts) {
                let labels = [labels[0], labels[1], ("le", bound)];
                page.line(&format!("{family}_bucket"), &labels, count);
            }
            page.line(&format!("{family}_sum"), &labels, took.seconds());
            page.line(&format!("{family}_count"), &labels, all);
        }
    }
}

fn servers(metrics: &Metrics, page: &mut Page) {
    let all = metrics.all_servers();
    page.family("contexture_upstream_calls_in_flight", "gauge", "Requests that are being answered.");
    for (server, counts) in &all {
        page.line("contexture_upstream_calls_in_flight", &[("server", server)], counts.in_flight.get());
    }
    page.family(
        "contexture_upstream_restarts_total",
        "counter",
        "Starts after a server had ended by itself.",
    );
    for (server, counts) in &all {
        page.line("contexture_upstream_restarts_total", &[("server", server)], counts.restarts.get());
    }
    page.family("contexture_decisions_total", "counter", "What was decided about calls.");
    for (server, counts) in &all {
        for decision in Decision::ALL {
            let labels = [("server", server.as_str()), ("decision", decision.word())];
            page.line("contexture_decisions_total", &labels, counts.decisions[decision as usize].get());
        }
    }
}

fn states(metrics: &Metrics, page: &mut Page) {
    let reports = metrics.source().map(|source| source.upstreams()).unwrap_or_default();
    page.family(
        "contexture_upstream_up",
        "gauge",
        "Whether a server can be used, perhaps after it was started.",
    );
    for report in &reports {
        page.line("contexture_upstream_up", &[("server", &report.server)], u8::from(report.is_usable));
    }
    page.family("contexture_upstream_connections", "gauge", "Connections to a server.");
    for report in &reports {
        page.line("contexture_upstream_connections", &[("server", &report.server)], report.connections);
    }
    page.family("contexture_upstream_state", "gauge", "Always 1; the state is a label.");
    for report in &reports {
        let labels = [("server", report.server.as_str()), ("state", report.state)];
        page.line("contexture_upstream_state", &labels, 1);
    }
}
