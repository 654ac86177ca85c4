//! From a connection to a call that works: who it is, which revision, what it says that it has and what it has.

use std::time::{Duration, Instant};

use contexture::model::{ErrorObject, ServerCapabilities, code};
use contexture::transport::ChildExit;
use contexture::{Client, Error};
use serde_json::{Value, json};

use super::lints;
use super::lists::{self, Offer};
use super::process::stdout;
use super::report::{Report, State};
use super::step::{CONFIGURATION, Step, UNREACHABLE};
use super::tap::Log;
use crate::options::{Doctoring, Target};

/// A server that has shaken hands.
pub(super) struct Connected {
    pub(super) client: Client,
    /// How it ended, should it.
    pub(super) exit: Option<ChildExit>,
    pub(super) log: Option<Log>,
    pub(super) took: Duration,
    /// What the newer handshake was answered with.
    pub(super) how: Option<String>,
}

/// What there is, and the one method by which each shows itself.
pub(super) const KINDS: &[(&str, &str)] =
    &[("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")];

impl Connected {
    /// Asks everything that is left, and leaves.
    pub(super) async fn examine(self, report: &mut Report, options: &Doctoring) {
        self.introduce(report, &options.target);
        let examined = self.walk(report, options).await;
        if examined.is_some() {
            self.late_noise(report);
        }
        self.client.close().await;
    }

    fn introduce(&self, report: &mut Report, target: &Target) {
        let server = self.client.server();
        let version = self.client.server_info().map(|info| format!(" {}", info.version)).unwrap_or_default();
        let name = server.info.as_ref().map_or("a server without a name", |info| info.name.as_str());
        let took = self.took.as_millis();
        report.passed(Step::Handshake, format!("{name}{version}, after {took} ms"));
        let revision = self.client.revision();
        let is_older = |one: &contexture::revision::Revision| one.is_legacy();
        let offered = target.revisions();
        let newest = offered.iter().rfind(|one| is_older(one) == is_older(&revision));
        let how = match (revision.is_legacy(), &self.how) {
            (false, _) => "by server/discover".to_owned(),
            (true, Some(refusal)) => format!("by initialize; server/discover was refused: {refusal}"),
            (true, None) => "by initialize".to_owned(),
        };
        match newest.filter(|newest| **newest != revision) {
            None => report.passed(Step::Revision, format!("{revision}, {how}")),
            Some(newest) => report.passed(
                Step::Revision,
                format!("{revision}, {how}; {newest} was offered, it speaks no newer"),
            ),
        }
    }

    async fn walk(&self, report: &mut Report, options: &Doctoring) -> Option<()> {
        report.begin(Step::Capabilities);
        let offer = self.capabilities(report).await?;
        lists::judge(report, &offer);
        lists::names(report, &offer);
        report.begin(Step::Call);
        self.call(report, options).await?;
        lints::all(report, &offer, self.client.revision().rules());
        Some(())
    }

    /// What it says that it has, and whether it does.
    async fn capabilities(&self, report: &mut Report) -> Option<Offer> {
        let declared = self.client.server_capabilities();
        let mut offer = Offer::default();
        let (mut wrong, mut silent) = (Vec::new(), Vec::new());
        for (kind, method) in KINDS {
            let is_declared = has(&declared, kind);
            let first = self.client.request(*method, json!({})).insist().await;
            match (is_declared, first) {
                (true, Ok(page)) => self.collect(report, &mut offer, (kind, method), page).await?,
                (true, Err(Error::Remote(error))) if error.code == code::METHOD_NOT_FOUND => {
                    wrong.push(format!(
                        "{kind} is declared, and {method} is answered with: {}",
                        error.message
                    ));
                }
                (true, Err(Error::Remote(error))) => wrong.push(refused(method, &error)),
                (_, Err(error)) if is_end(&error) => return self.lost(report, method, &error).await,
                (true, Err(error)) => wrong.push(format!("{method}: {error}")),
                (false, Ok(page)) if !page[kind].as_array().is_none_or(Vec::is_empty) => {
                    silent.push(format!("{method} brings something, and {kind} is not declared"));
                }
                (false, _) => {}
            }
        }
        self.asides(&declared, &mut wrong).await;
        let names = declared_names(&declared);
        if !wrong.is_empty() {
            let next = "its author has to declare only what is there, or to add the method";
            report.fail::<()>(Step::Capabilities, "it declares what it has not", next);
            report.details(wrong);
        } else if !silent.is_empty() {
            let next = "clients do not ask for what is not declared: its author has to declare it";
            report.warn(Step::Capabilities, "it has what it does not declare", next);
            report.details(silent);
        } else {
            let names = if names.is_empty() { "none are declared".to_owned() } else { names.join(", ") };
            report.passed(Step::Capabilities, names);
        }
        Some(offer)
    }

    /// What is declared beside lists: a question that names nothing must at least be known.
    async fn asides(&self, declared: &ServerCapabilities, wrong: &mut Vec<String>) {
        let level = (declared.logging.is_some() && self.client.revision().rules().has_set_level)
            .then(|| ("logging", "logging/setLevel", json!({ "level": "error" })));
        let nothing = json!({ "type": "ref/prompt", "name": "contexture-doctor" });
        let completion = json!({ "ref": nothing, "argument": { "name": "a", "value": "" } });
        let completion =
            declared.completions.is_some().then_some(("completions", "completion/complete", completion));
        for (kind, method, params) in level.into_iter().chain(completion) {
            if let Err(Error::Remote(error)) = self.client.request(method, params).insist().await
                && error.code == code::METHOD_NOT_FOUND
            {
                wrong.push(format!("{kind} is declared, and {method} is answered with: {}", error.message));
            }
        }
    }

    async fn collect(
        &self,
        report: &mut Report,
        offer: &mut Offer,
        (kind, method): (&'static str, &'static str),
        first: Value,
    ) -> Option<()> {
        report.begin(Step::Lists);
        match lists::collect(&self.client, offer, (kind, method), first).await {
            Ok(()) => Some(()),
            Err(error) if is_end(&error) => self.lost(report, method, &error).await,
            Err(error) => {
                offer.wrong.push(format!("{method}: {error}"));
                Some(())
            }
        }
    }

    /// The connection is over, or nobody answers any more.
    async fn lost<T>(&self, report: &mut Report, method: &str, error: &Error) -> Option<T> {
        if matches!(error, Error::Timeout(_)) {
            let seen = format!("{method} is not answered: {error}");
            report.fail::<()>(
                Step::Lists,
                seen,
                "its author has to answer every request; --timeout SECONDS waits longer",
            );
            return None;
        }
        let how = match &self.exit {
            Some(exit) => exit.describe().await,
            None => error.to_string(),
        };
        let seen = format!("it ended after the handshake, when it was asked {method}: {how}");
        let words = self.exit.as_ref().map(ChildExit::last_lines).unwrap_or_default();
        let next = super::remedy::remedy(&words, "its own log may say why");
        report.fail::<()>(Step::Lists, seen, next);
        report.ends_with(UNREACHABLE);
        None
    }

    async fn call(&self, report: &mut Report, options: &Doctoring) -> Option<()> {
        let begun = Instant::now();
        let outcome = match &options.call {
            None => self.client.ping().await.map(|()| "a ping".to_owned()),
            Some(tool) => {
                let given = options.arguments.as_deref().unwrap_or("{}");
                let Ok(arguments @ Value::Object(_)) = serde_json::from_str(given) else {
                    report.fail::<()>(Step::Call, "--arguments is no JSON object", "write {\"name\": value}");
                    report.ends_with(CONFIGURATION);
                    return None;
                };
                let reply = self.client.call(tool.as_str(), arguments).await;
                reply.and_then(contexture::client::ToolReply::ok).map(|_| tool.clone())
            }
        };
        let took = begun.elapsed().as_millis();
        match outcome {
            Ok(what) => {
                report.passed(Step::Call, format!("{what} is answered after {took} ms"));
                Some(())
            }
            Err(error) if is_end(&error) => self.lost(report, "a ping", &error).await,
            Err(error) => {
                let next = match options.call {
                    Some(_) => "look at the tool's arguments: contexture tools list",
                    None => "its author has to answer `ping`",
                };
                report.fail::<()>(Step::Call, error.to_string().replace("the peer", "the server"), next);
                Some(())
            }
        }
    }

    /// What was printed later than the handshake.
    fn late_noise(&self, report: &mut Report) {
        let Some(log) = &self.log else { return };
        let told = report
            .findings
            .iter()
            .any(|finding| finding.step == Step::Stdout && finding.state == State::Failed);
        if !told && log.read().noises > 0 {
            report.findings.retain(|finding| finding.step != Step::Stdout);
            stdout(report, log);
        }
    }
}

/// Whether nothing more will come.
fn is_end(error: &Error) -> bool {
    matches!(error, Error::Closed(_) | Error::Transport(_) | Error::Timeout(_))
}

fn refused(method: &str, error: &ErrorObject) -> String {
    format!("{method} is answered with error {}: {}", error.code, error.message)
}

fn has(declared: &ServerCapabilities, kind: &str) -> bool {
    match kind {
        "tools" => declared.tools.is_some(),
        "resources" => declared.resources.is_some(),
        _ => declared.prompts.is_some(),
    }
}

fn declared_names(declared: &ServerCapabilities) -> Vec<&'static str> {
    let all = [
        ("tools", declared.tools.is_some()),
        ("resources", declared.resources.is_some()),
        ("prompts", declared.prompts.is_some()),
        ("completions", declared.completions.is_some()),
        ("logging", declared.logging.is_some()),
        ("tasks", declared.tasks.is_some()),
    ];
    all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}
