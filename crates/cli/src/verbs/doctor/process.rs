//! From a command to a connection: the program is found, starts, keeps its output clean and answers.
//!
//! The handshake is the client's own, listened to; a program that ends at the newer handshake is started once more for the older,
//! as every client would.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use contexture::revision::Revision;
use contexture::transport::{ChildCommand, ChildExit, ChildTransport, Side, Tapped};
use contexture::{Client, Error, Policy};
use contexture_host::config::TransportSpec;

use super::command::Wanted;
use super::protocol::Connected;
use super::remedy::remedy;
use super::report::Report;
use super::step::{MISBEHAVES, Step, UNREACHABLE};
use super::tap::{Form, Log};
use crate::connect::environment;
use crate::options::Target;
use crate::place::Place;
use crate::verbs::hint::quoted;

/// How a server is started.
pub(super) struct Launch {
    words: Vec<OsString>,
    folder: Option<PathBuf>,
    path: Option<OsString>,
    child: ChildCommand,
}

impl Launch {
    /// `None` for what is not started.
    pub(super) fn of(place: &Place, target: &Target) -> Option<Self> {
        let own = std::env::var_os("PATH");
        match place {
            Place::Command(words) => {
                let child = ChildCommand::new(words.first()?).args(words.get(1..)?);
                let child = environment(child, target, None);
                Some(Self { words: words.clone(), folder: None, path: own, child })
            }
            Place::Configured(entry) => {
                let TransportSpec::Stdio { command, args, env, cwd } = &entry.transport else { return None };
                let child = ChildCommand::new(command).args(args);
                let child = env.iter().fold(child, |child, (name, value)| child.env(name, value.expose()));
                let child = cwd.iter().fold(child, |child, folder| child.current_dir(folder));
                let path = env.get("PATH").map(|path| OsString::from(path.expose()));
                let words = std::iter::once(command).chain(args).map(OsString::from).collect();
                let child = environment(child, target, None);
                Some(Self { words, folder: cwd.clone(), path: path.or(own), child })
            }
            _ => None,
        }
    }

    /// As a person would type it. Arguments may hold what a variable held, so they are shown only where a person typed them.
    fn by_hand(&self, place: &Place) -> String {
        let shown = match place {
            Place::Command(words) => words.as_slice(),
            _ => self.words.get(..1).unwrap_or_default(),
        };
        let words: Vec<String> = shown.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        let more = if shown.len() < self.words.len() { " …" } else { "" };
        format!("{}{more}", words.join(" "))
    }

    /// Finds the program, starts it and shakes hands.
    pub(super) async fn connect(
        &self,
        report: &mut Report,
        place: &Place,
        target: &Target,
        patience: Duration,
    ) -> Option<Connected> {
        let program = self.words.first().map(OsString::as_os_str).unwrap_or(OsStr::new(""));
        Wanted { program, folder: self.folder.as_deref(), path: self.path.clone() }.look(report)?;
        report.begin(Step::Start);
        let revisions = target.revisions();
        let mut attempt = self.attempt(report, &revisions, patience).await?;
        let older: Vec<Revision> = revisions.iter().copied().filter(|one| one.is_legacy()).collect();
        let mut note = None;
        if attempt.ended_at_probe() && !older.is_empty() && older.len() < revisions.len() {
            note = Some("it ended when it was asked server/discover, and was started again for initialize");
            attempt = self.attempt(report, &older, patience).await?;
        }
        let by_hand = self.by_hand(place);
        attempt.judge(report, patience, &by_hand, note).await
    }

    async fn attempt(
        &self,
        report: &mut Report,
        revisions: &[Revision],
        patience: Duration,
    ) -> Option<Attempt> {
        let policy = policy(patience);
        let child = match ChildTransport::spawn(&self.child, &policy) {
            Ok(child) => child,
            Err(error) => {
                return report.fail(Step::Start, error.to_string(), "the system refuses to start it");
            }
        };
        report.begin(Step::Handshake);
        let (exit, log, begun) = (child.exit(), Log::default(), Instant::now());
        let builder = builder(policy, revisions, patience);
        let outcome = builder.connect(Tapped::new(child, Side::Client, log.clone())).await;
        Some(Attempt { outcome, exit, log, took: begun.elapsed() })
    }
}

/// What a server may cost while it is looked at.
pub(super) fn policy(patience: Duration) -> Policy {
    let mut policy = Policy::default();
    policy.patience.idle = patience;
    policy.list_time = patience;
    policy
}

/// A client that answers nothing and asks what is allowed.
pub(super) fn builder(
    policy: Policy,
    revisions: &[Revision],
    patience: Duration,
) -> contexture::client::Builder {
    Client::builder()
        .name("contexture", env!("CARGO_PKG_VERSION"))
        .policy(policy)
        .revisions(revisions)
        .probe_timeout(PROBE.min(patience / 2))
}

/// How long the probe for the modern era may take at most.
const PROBE: Duration = Duration::from_secs(5);

/// One start, and what came of it.
struct Attempt {
    outcome: Result<Client, Error>,
    exit: ChildExit,
    log: Log,
    took: Duration,
}

impl Attempt {
    /// Whether the program ended as soon as it was asked for the modern era.
    fn ended_at_probe(&self) -> bool {
        let heard = self.log.read();
        self.has_ended() && heard.messages == 0 && !heard.sent.iter().any(|method| method == "initialize")
    }

    fn has_ended(&self) -> bool {
        matches!(self.outcome, Err(Error::Closed(_) | Error::Transport(_)))
    }

    async fn judge(
        self,
        report: &mut Report,
        patience: Duration,
        by_hand: &str,
        note: Option<&str>,
    ) -> Option<Connected> {
        if self.has_ended() && self.log.read().messages == 0 {
            return self.ended(report, Step::Start, by_hand).await;
        }
        report.passed(Step::Start, note.unwrap_or("it runs"));
        let clean = stdout(report, &self.log);
        report.begin(Step::Handshake);
        match self.outcome {
            Ok(client) => {
                let how = self.log.read().refusal.clone();
                Some(Connected { client, exit: Some(self.exit), log: Some(self.log), took: self.took, how })
            }
            Err(_) if self.has_ended() => self.ended(report, Step::Handshake, by_hand).await,
            Err(Error::Timeout(_)) => self.silent(report, patience, clean),
            Err(error) => failed_handshake(report, &error),
        }
    }

    /// It is gone: how, and with what words. What it printed for people says as much as what it said on standard error.
    async fn ended(&self, report: &mut Report, step: Step, by_hand: &str) -> Option<Connected> {
        let how = self.exit.describe().await;
        let how = how.split(": ").next().unwrap_or_default().replacen("server", "it", 1);
        let noise = self.log.read().noise.clone();
        let words = format!("{}\n{}", noise.join("\n"), self.exit.last_lines());
        let seen = if words.trim().is_empty() { format!("{how}, and said nothing") } else { how };
        report.fail::<()>(step, seen, remedy(&words, by_hand));
        report.ends_with(UNREACHABLE);
        report.details(noise.iter().map(|line| format!("stdout: {line}")));
        last_words(report, &self.exit.last_lines());
        None
    }

    /// It runs, and did not answer what it was asked.
    fn silent(&self, report: &mut Report, patience: Duration, clean: bool) -> Option<Connected> {
        let heard = self.log.read();
        if !heard.strange.is_empty() {
            let seen = format!(
                "it answers with the id {}, and nobody asked that: the questions have the ids {}",
                heard.strange.join(", "),
                heard.asked()
            );
            let next = "its author has to repeat the id of the request, the same value and the same type";
            report.fail::<()>(Step::Handshake, seen, next);
            report.ends_with(MISBEHAVES);
            return None;
        }
        let seen = format!("no answer within {} s", patience.as_secs_f32());
        let next = match clean {
            true => {
                "does it speak MCP over standard input and output? Some want an argument for that (stdio). A first start that downloads something takes longer: --timeout SECONDS"
            }
            false => "what it prints is no message: see above",
        };
        report.fail::<()>(Step::Handshake, seen, next);
        last_words(report, &self.exit.last_lines());
        None
    }
}

fn last_words(report: &mut Report, words: &str) {
    let lines: Vec<&str> = words.lines().rev().take(8).collect();
    report.details(lines.into_iter().rev().map(|line| format!("stderr: {line}")));
}

/// A handshake that was answered, and not as it should be.
pub(super) fn failed_handshake<T>(report: &mut Report, error: &Error) -> Option<T> {
    let (step, exit, next) = match error {
        Error::PeerIncompatible(_) => (
            Step::Revision,
            MISBEHAVES,
            "it speaks no revision that we do: --revision and --era narrow that, too; or it needs an update",
        ),
        Error::Remote(_) => {
            (Step::Handshake, MISBEHAVES, "its author has to answer `initialize`, or `server/discover`")
        }
        Error::PeerMisbehaved(_) => {
            (Step::Handshake, MISBEHAVES, "its author has to answer as the specification says")
        }
        _ => (Step::Handshake, UNREACHABLE, "is it still running? Its log may say more"),
    };
    report.fail::<()>(step, error.to_string().replace("the peer", "the server"), next);
    report.ends_with(exit);
    None
}

/// What is on standard output beside messages. Says whether nothing is.
pub(super) fn stdout(report: &mut Report, log: &Log) -> bool {
    let heard = log.read();
    let Some(form) = heard.form() else {
        report.passed(Step::Stdout, "nothing but messages");
        return true;
    };
    let (seen, next) = match form {
        Form::Text => (
            "it prints what is no message",
            "standard output is for messages alone: its banner and its log belong on standard error",
        ),
        Form::Spread => (
            "it spreads a message over several lines",
            "each message is one line: its author has to write JSON without indentation",
        ),
        Form::Headers => (
            "it puts Content-Length before messages, as language servers do",
            "a message is one line without headers: its author has to leave them out",
        ),
        Form::OtherJson => (
            "it prints JSON that is no message: `jsonrpc` is missing",
            "each message has \"jsonrpc\": \"2.0\"; its log belongs on standard error",
        ),
    };
    report.fail::<()>(Step::Stdout, seen, next);
    report.details(heard.noise.iter().map(|line| format!("stdout: {line}")));
    if heard.noises > heard.noise.len() {
        report.details([format!("and {} more", heard.noises - heard.noise.len())]);
    }
    false
}
