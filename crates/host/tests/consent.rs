//! Consent: what is decided, what people are shown and asked, what is remembered, and what is written down.

#[path = "consent/audit.rs"]
mod audit;
#[path = "consent/decisions.rs"]
mod decisions;
#[path = "consent/explanations.rs"]
mod explanations;
#[path = "consent/memory.rs"]
mod memory;
#[path = "consent/questions.rs"]
mod questions;
#[path = "consent/reviews.rs"]
mod reviews;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use contexture::Principal;
use contexture::model::{Tool, ToolAnnotations};
use contexture_host::config::{Origin, ServerEntry, TransportSpec};
use contexture_host::consent::{Asking, Consent, Kind, NO_PIN, Pin, PolicyConfig, Settings, Verdict};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One thing that somebody wants, with everything that an [`Asking`] borrows.
struct Wish {
    principal: Principal,
    server: ServerEntry,
    tool: Option<Tool>,
    name: String,
    pin: Pin,
    arguments: Option<Box<RawValue>>,
    kind: Kind,
}

impl Wish {
    /// A call of a tool of the server `files`, by the local user.
    fn tool(name: &str) -> Self {
        let transport = TransportSpec::Stdio {
            command: "files".into(),
            args: vec![],
            env: Default::default(),
            cwd: None,
        };
        let schema = json!({"type": "object"}).as_object().expect("an object").clone();
        Self {
            principal: Principal::local(),
            server: ServerEntry::new("files", transport, Origin::command_line()),
            tool: Some(Tool::new(name, schema)),
            name: name.to_owned(),
            pin: [7; 32],
            arguments: None,
            kind: Kind::Tool,
        }
    }

    fn of_kind(kind: Kind, name: &str) -> Self {
        Self { kind, tool: None, pin: NO_PIN, ..Self::tool(name) }
    }

    fn server(mut self, name: &str) -> Self {
        self.server.name = name.to_owned();
        self
    }

    fn trusted(mut self) -> Self {
        self.server.trusted = true;
        self
    }

    fn by(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self
    }

    fn hints(mut self, hints: ToolAnnotations) -> Self {
        self.tool.as_mut().expect("a tool").annotations = Some(hints);
        self
    }

    fn arguments(mut self, json: &str) -> Self {
        self.arguments = Some(RawValue::from_string(json.to_owned()).expect("JSON"));
        self
    }

    fn pin(mut self, pin: Pin) -> Self {
        self.pin = pin;
        self
    }

    fn asking(&self) -> Asking<'_> {
        Asking {
            principal: &self.principal,
            server: &self.server,
            tool: &self.name,
            shown: &self.name,
            definition: self.tool.as_ref(),
            pin: &self.pin,
            arguments: self.arguments.as_deref(),
            kind: self.kind,
            trace: Some("4bf92f3577b34da6a3ce929d0e0e4736"),
        }
    }
}

fn read_only() -> ToolAnnotations {
    ToolAnnotations::new().read_only_hint(true)
}

fn policy(json: Value) -> PolicyConfig {
    serde_json::from_value(json).expect("a policy")
}

fn consent(json: Value) -> Consent {
    Consent::open(Settings { policy: policy(json), ..Settings::default() })
}

/// The verdict in one word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny { .. } => "deny",
        Verdict::Ask(_) => "ask",
    }
}

fn reason(verdict: Verdict) -> String {
    let Verdict::Deny { reason } = verdict else { panic!("{verdict:?}") };
    reason
}

fn message(verdict: Verdict) -> String {
    let Verdict::Ask(ask) = verdict else { panic!("{verdict:?}") };
    ask.message
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-consent-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
