//! What is measured: every row of the benchmark, and the jobs that fill them. A job is one call of the driver,
//! which starts one program and can fill several rows. Nothing is run here.

use super::options::Options;
use super::peers::{BARE_HTTP, BARE_STDIO, OURS, PEERS, Peer, Role, Start};
use std::path::Path;

/// How HTTP is spoken: key and title.
pub(super) const SETTINGS: [(&str, &str); 3] = [
    ("sessions", "2025-06-18 with a session"),
    ("stateless", "2025-06-18 without sessions"),
    ("modern", "2026-07-28"),
];
/// How pipes are spoken: key and revision.
pub(super) const ERAS: [(&str, &str); 2] = [("legacy", "2025-06-18"), ("modern", "2026-07-28")];
pub(super) const CONNECTIONS: [usize; 3] = [1, 32, 256];
pub(super) const WINDOWS: [usize; 2] = [1, 32];
/// Kinds of work beside echo: key, the driver's word, more tools, title.
pub(super) const WORKS: [(&str, &str, usize, &str); 6] = [
    ("steps", "steps@32", 0, "a call that reports progress ten times, over SSE"),
    ("blob", "blob:1048576@8", 0, "a result of 1 MiB"),
    ("length", "length:1048576@8", 0, "an argument of 1 MiB"),
    ("weather", "weather@32", 0, "structured output, validated where the library does"),
    ("list", "list@32", 100, "`tools/list` with 100 tools of nested schemas and 5 more"),
    ("tool", "tool@32", 64, "one of 64 tools with nested schemas, called with all arguments"),
];
/// The settings in which they are measured.
pub(super) const WORK_SETTINGS: [&str; 2] = ["sessions", "modern"];
pub(super) const PAYLOADS: [usize; 6] = [64, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20];
pub(super) const TOOLS: [usize; 5] = [1, 10, 100, 1_000, 10_000];
pub(super) const SESSIONS: [usize; 4] = [1, 100, 10_000, 50_000];
/// How many sessions and streams are left idle.
pub(super) const IDLE_SESSIONS: usize = 5_000;
pub(super) const IDLE_STREAMS: usize = 1_000;

const PAYLOAD_SERVERS: [&str; 5] = [OURS, BARE_HTTP, "rmcp-tuned", "go-sdk", "typescript-sdk"];
const TOOL_SERVERS: [&str; 5] = [OURS, "rmcp-tuned", "rmcp", "tower-mcp-tuned", "tower-mcp"];
const SESSION_SERVERS: [&str; 5] = [OURS, "rmcp-tuned", "tower-mcp-tuned", "go-sdk", "typescript-sdk"];

/// One call of the driver.
pub(super) struct Job {
    pub(super) server: &'static Peer,
    /// What the driver is told before `--`, and the program after it.
    pub(super) args: Vec<String>,
    pub(super) command: Vec<String>,
    /// Member of the driver's answer (the whole if empty) and the row that it fills.
    pub(super) takes: Vec<(String, String)>,
    /// Whether the driver and what it starts share core 0.
    pub(super) one_core: bool,
    /// Whether it is done in the first round only: memory does not need medians, and some take long.
    pub(super) once: bool,
    /// About how many seconds it takes.
    pub(super) cost: f64,
}

struct Planner<'a> {
    bench: &'a Path,
    options: &'a Options,
    jobs: Vec<Job>,
}

/// Every job of one round, in order: the servers of one row follow one another.
pub(super) fn jobs(bench: &Path, options: &Options) -> Vec<Job> {
    let mut planner = Planner { bench, options, jobs: Vec::new() };
    planner.stdio();
    planner.echo();
    planner.works();
    planner.clients();
    planner.idle();
    planner.payloads();
    planner.tools();
    planner.sessions();
    planner.jobs
}

impl Planner<'_> {
    fn servers(&self, wanted: impl Fn(&Peer) -> bool) -> Vec<&'static Peer> {
        PEERS.iter().filter(|peer| wanted(peer) && self.options.wants_server(peer.name)).collect()
    }

    fn named(&self, names: &[&str]) -> Vec<&'static Peer> {
        self.servers(|peer| names.contains(&peer.name))
    }

    /// Adds a job, unless nobody asked for its rows.
    fn add(&mut self, mut job: Job) {
        job.takes.retain(|(_, row)| self.options.wants_row(row));
        if !job.takes.is_empty() {
            self.jobs.push(job);
        }
    }

    fn timing(&self) -> Vec<String> {
        let options = self.options;
        words(&["--seconds", &options.seconds.to_string(), "--wait", &options.wait.to_string()])
    }

    fn stdio(&mut self) {
        for (key, era) in ERAS {
            for server in self.servers(|peer| peer.stdio) {
                let row = |kind: &str| format!("stdio/{key}/{kind}");
                let job = |args: Vec<String>, takes, one_core| Job {
                    server,
                    args,
                    command: server.stdio_command(self.bench),
                    takes,
                    one_core,
                    once: false,
                    cost: server.start_cost()
                        + if one_core { 1.5 } else { 1.8 + self.options.seconds as f64 },
                };
                let mut args = words(&["stdio", "--era", era, "--window", "64"]);
                args.extend(self.timing());
                let free = vec![
                    ("pipelined".to_owned(), row("pipelined")),
                    ("sequential".to_owned(), row("free")),
                    ("start".to_owned(), format!("start/{key}")),
                ];
                let free = job(args.clone(), free, false);
                args.push("--sequential".into());
                let pinned = job(args, vec![("sequential".to_owned(), row("one-core"))], true);
                self.add(free);
                self.add(pinned);
            }
        }
    }

    /// One start of an HTTP server with a list of work and the rows that it fills.
    fn http(&mut self, server: &'static Peer, start: Start<'_>, idle: usize, works: &[(String, String)]) {
        let works: Vec<_> = works.iter().filter(|(_, row)| self.options.wants_row(row)).cloned().collect();
        let script = self.bench.join("http/load.lua").to_string_lossy().into_owned();
        let retries = self.options.retries.to_string();
        let mut args =
            words(&["http", "--setting", start.setting, "--script", &script, "--retries", &retries]);
        args.extend(self.timing());
        args.extend(works.iter().flat_map(|(work, _)| ["--work".to_owned(), work.clone()]));
        if idle > 0 {
            args.extend(["--idle".to_owned(), idle.to_string()]);
        }
        let command = server.http_command(self.bench, start);
        let cost = server.start_cost() + works.len() as f64 * (0.5 + self.options.seconds as f64);
        self.add(Job { server, args, command, takes: works, one_core: false, once: false, cost });
    }

    fn echo(&mut self) {
        let connections = if self.options.quick { &CONNECTIONS[1..2] } else { &CONNECTIONS[..] };
        for (setting, _) in SETTINGS.iter().filter(|(key, _)| !self.options.quick || *key != "stateless") {
            let row = |count: &usize| (format!("echo@{count}"), format!("echo/{setting}/{count}"));
            let works: Vec<_> = connections.iter().map(row).collect();
            for server in self.servers(|peer| peer.http) {
                self.http(server, start(setting), 0, &works);
            }
        }
    }

    fn works(&mut self) {
        let settings = if self.options.quick { &WORK_SETTINGS[1..] } else { &WORK_SETTINGS[..] };
        for setting in settings {
            // Each group of tools is a start of its own, and so are answers in streams.
            for (tools, streams) in [(0, true), (0, false), (100, false), (64, false)] {
                let wanted =
                    WORKS.iter().filter(|(key, _, more, _)| *more == tools && (*key == "steps") == streams);
                let row = |key: &str, work: &str| (work.to_owned(), format!("{key}/{setting}"));
                let works: Vec<_> = wanted.map(|(key, work, _, _)| row(key, work)).collect();
                // A bare server's list is short, whatever it is told: that is no limit.
                for server in self.servers(|peer| peer.http && (tools != 100 || peer.role != Role::Limit)) {
                    self.http(server, Start { tools, streams, ..start(setting) }, 0, &works);
                }
            }
            for key in ["blob", "length"] {
                for server in self.servers(|peer| peer.http) {
                    let work = format!("{key}:1048576");
                    let args = words(&["peak", "--setting", setting, "--work", &work]);
                    self.memory(server, setting, args, format!("{key}/{setting}"));
                }
            }
        }
    }

    fn clients(&mut self) {
        let windows = if self.options.quick { &WINDOWS[1..] } else { &WINDOWS[..] };
        let eras = if self.options.quick { &ERAS[1..] } else { &ERAS[..] };
        for (transport, bare) in [("stdio", BARE_STDIO), ("http", BARE_HTTP)] {
            let target = self.bench.join("target/release").join(bare).to_string_lossy().into_owned();
            for (key, era) in eras {
                for window in windows {
                    let speaks = |peer: &Peer| if transport == "stdio" { peer.stdio } else { peer.http };
                    for server in self.servers(|peer| peer.client && speaks(peer)) {
                        let window = window.to_string();
                        let mut args = words(&["client", "--era", era, "--transport", transport]);
                        args.extend(words(&["--target", &target, "--window", &window]));
                        args.extend(self.timing());
                        args.extend(server.client_is_tuned().then(|| "--tuned".to_owned()));
                        let command = server.client_command(self.bench);
                        let takes = vec![(String::new(), format!("client/{transport}/{key}/{window}"))];
                        let cost = 2.0 * server.start_cost() + 0.3 + self.options.seconds as f64;
                        self.add(Job { server, args, command, takes, one_core: false, once: false, cost });
                    }
                }
            }
        }
    }

    /// A job that looks at memory only.
    fn memory(&mut self, server: &'static Peer, setting: &str, args: Vec<String>, row: String) {
        let command = server.http_command(self.bench, start(setting));
        let takes = vec![(String::new(), row)];
        self.add(Job { server, args, command, takes, one_core: false, once: true, cost: 2.0 });
    }

    fn idle(&mut self) {
        let rows = [
            ("sessions", "sessions", IDLE_SESSIONS, "idle/sessions"),
            ("sessions", "streams", IDLE_STREAMS, "idle/streams"),
            ("modern", "streams", IDLE_STREAMS, "idle/listen"),
        ];
        for (setting, what, count, row) in rows {
            for server in self.servers(|peer| peer.http && peer.role != Role::Limit) {
                let count = count.to_string();
                let args = words(&["idle", "--setting", setting, "--what", what, "--count", &count]);
                self.memory(server, setting, args, row.into());
            }
        }
    }

    fn payloads(&mut self) {
        let row = |bytes: usize| (format!("echo:{bytes}@8"), format!("payload/{bytes}"));
        let works: Vec<_> = self.points(&PAYLOADS).into_iter().map(row).collect();
        for server in self.named(&PAYLOAD_SERVERS) {
            self.http(server, start("sessions"), 0, &works);
        }
    }

    fn tools(&mut self) {
        for count in self.points(&TOOLS) {
            for server in self.named(&TOOL_SERVERS) {
                let work = ("echo@32".to_owned(), format!("tools/{count}"));
                self.http(server, Start { tools: count, ..start("sessions") }, 0, &[work]);
            }
        }
    }

    fn sessions(&mut self) {
        for count in self.points(&SESSIONS) {
            for server in self.named(&SESSION_SERVERS) {
                let before = self.jobs.len();
                let work = ("echo@32".to_owned(), format!("growth/{count}"));
                self.http(server, start("sessions"), count, &[work]);
                if let Some(job) = self.jobs.get_mut(before) {
                    job.once = server.role != Role::Ours;
                    job.cost += count as f64 / 5_000.0;
                }
            }
        }
    }

    /// All points of a curve, or its ends when there is little time.
    fn points(&self, all: &[usize]) -> Vec<usize> {
        match (self.options.quick, all) {
            (true, [first, .., last]) => vec![*first, *last],
            _ => all.to_vec(),
        }
    }
}

/// With the benchmark's own tools and nothing else asked for.
fn start(setting: &str) -> Start<'_> {
    Start { profile: "release", setting, tools: 0, streams: false }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every row that a run with these words fills.
    pub(in super::super) fn rows(words: &str) -> BTreeSet<String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&words).expect("valid options");
        jobs(Path::new("bench"), &options).into_iter().flat_map(|job| job.takes).map(|(_, row)| row).collect()
    }

    #[test]
    fn a_quick_run_is_a_part_of_the_whole() {
        let (quick, whole) = (rows("--quick"), rows(""));
        assert!(quick.is_subset(&whole) && quick.len() < whole.len());
        assert!(rows("--only steps").iter().all(|row| row.starts_with("steps/")));
        assert!(rows("--only nothing").is_empty());
    }

    #[test]
    fn a_whole_run_takes_little_more_than_half_an_hour() {
        let options = Options::parse(&[]).expect("valid options");
        let rounds = |job: &Job| if job.once { 1.0 } else { options.rounds as f64 };
        let seconds: f64 = jobs(Path::new("bench"), &options).iter().map(|job| job.cost * rounds(job)).sum();
        assert!((1_200.0..2_200.0).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn every_row_of_clients_has_the_limit_of_its_transport() {
        let options = Options::parse(&["--only".into(), "client/".into()]).expect("valid options");
        let all = jobs(Path::new("bench"), &options);
        let rows = |name: &str| -> BTreeSet<&str> {
            let jobs = all.iter().filter(|job| job.server.name == name);
            jobs.flat_map(|job| &job.takes).map(|(_, row)| row.as_str()).collect()
        };
        let (stdio, http) = (rows(BARE_STDIO), rows(BARE_HTTP));
        assert!(stdio.iter().all(|row| row.starts_with("client/stdio/")));
        assert!(http.iter().all(|row| row.starts_with("client/http/")));
        assert_eq!(&stdio | &http, rows(OURS));
    }

    #[test]
    fn only_those_who_need_it_are_told_to_stream() {
        let options = Options::parse(&["--only".into(), "steps/modern".into()]).expect("valid options");
        let told = |name: &str| {
            let all = jobs(Path::new("bench"), &options);
            all.iter().any(|job| job.server.name == name && job.command.contains(&"--sse".to_owned()))
        };
        assert!(told("go-sdk") && !told("rmcp") && !told(OURS));
    }
}
