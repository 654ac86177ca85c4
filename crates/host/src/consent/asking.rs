//! What is asked of consent, and what it says.

use std::time::Duration;

use contexture::Principal;
use contexture::model::{ElicitAction, ElicitValue};
use contexture::model::{ElicitParams, ElicitResult, ElicitSchema, Tool, ToolAnnotations};
use serde_json::Value;
use serde_json::value::RawValue;

use super::case::{Case, Kind, Pin};
use super::question::PersonQuestion;
use super::rules::{Because, PolicyConfig};
use super::text::{cut, safe_line};
use crate::config::ServerEntry;

/// The pin of what has no definition.
pub const NO_PIN: Pin = [0; 32];

/// A definition that says nothing about its tool.
static NO_HINTS: ToolAnnotations = ToolAnnotations {
    title: None,
    read_only_hint: None,
    destructive_hint: None,
    idempotent_hint: None,
    open_world_hint: None,
};

/// Characters of a name that are shown.
const NAME: usize = 200;

/// What a definition says about its tool, if only by leaving it out.
pub(crate) fn hints(tool: &Tool) -> &ToolAnnotations {
    tool.annotations.as_ref().unwrap_or(&NO_HINTS)
}

/// Something that somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Who wants it.
    pub principal: &'a Principal,
    /// At which server.
    pub server: &'a ServerEntry,
    /// The name as the server has it: of the tool or prompt, or the resource's URI; empty where there is none.
    pub tool: &'a str,
    /// The name in the catalog.
    pub shown: &'a str,
    /// The tool's definition, if it is a tool.
    pub definition: Option<&'a Tool>,
    /// The digest of its definition; [`NO_PIN`] if there is none.
    pub pin: &'a Pin,
    /// Exactly what would be sent.
    pub arguments: Option<&'a RawValue>,
    /// What it is.
    pub kind: Kind,
    /// The trace that it belongs to.
    pub trace: Option<&'a str>,
}

impl<'a> Asking<'a> {
    /// What rules see of it.
    pub fn case(&self) -> Case<'a> {
        Case {
            kind: self.kind,
            server: &self.server.name,
            trusted: self.server.trusted,
            name: self.tool,
            principal: self.principal,
            annotations: self.definition.map(hints),
            arguments: self.arguments,
        }
    }

    /// What it is, in words, with names that cannot pretend to be something else.
    pub(super) fn what(&self) -> String {
        let server = shown(&self.server.name);
        let name = shown(self.tool);
        match self.kind {
            Kind::Tool => format!("the tool {name} of server {server}"),
            Kind::Prompt => format!("the prompt {name} of server {server}"),
            Kind::Resource => format!("the resource {name} of server {server}"),
            Kind::Sampling => format!("a question of server {server} to a model"),
            Kind::Roots => format!("showing the roots to server {server}"),
            Kind::Elicitation => format!("a question of server {server} to you"),
            Kind::Login => format!("a login at server {server}"),
        }
    }

    /// Whether an answer can be remembered: not for those who proved nothing, because the next one who proves nothing is
    /// somebody else.
    pub(super) fn can_be_remembered(&self) -> bool {
        !self.principal.is_anonymous()
    }

    /// Whether it may be allowed once and for all. Each question to a model has a text of its own to agree to.
    pub(super) fn can_be_always(&self) -> bool {
        self.can_be_remembered() && self.kind != Kind::Sampling
    }

    pub(super) fn refusal(&self, answer: Answer) -> String {
        match answer {
            Answer::Dismissed => {
                format!(
                    "{} was not allowed: the question was left unanswered. {}",
                    self.what(),
                    self.advice()
                )
            }
            Answer::Never => format!("{} was denied for good by a person", self.what()),
            _ => format!("{} was denied by a person", self.what()),
        }
    }

    pub(super) fn unasked(&self) -> String {
        format!(
            "{} needs a person's consent, and nobody can be asked: the client takes no elicitations and there is no \
             terminal. {}",
            self.what(),
            self.advice()
        )
    }

    /// The rule that would allow it.
    fn advice(&self) -> String {
        let selector = match self.kind {
            Kind::Tool | Kind::Prompt | Kind::Resource => {
                format!("{}: {}", quoted(self.kind.word()), quoted(&cut(self.tool, NAME)))
            }
            other => format!("\"kinds\": [{}]", quoted(other.word())),
        };
        let server = quoted(&self.server.name);
        format!(
            "To allow it, put {{ \"server\": {server}, {selector}, \"decision\": \"allow\" }} among the \
             \"rules\" of the \"policy\" in your contexture.json"
        )
    }
}

/// A name in quotes, on one line, with everything visible.
pub(super) fn shown(name: &str) -> String {
    format!("\"{}\"", safe_line(&cut(name, NAME)))
}

fn quoted(text: &str) -> String {
    Value::from(safe_line(text)).to_string()
}

/// What is decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// It may not.
    Deny {
        /// Who says so, and what can be done about it.
        reason: String,
    },
    /// A person has to say.
    Ask(AskPerson),
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AskPerson {
    /// What it is about: server, tool and arguments, harmless to show.
    pub message: String,
    /// The choices, as a form that can be asked in every revision that knows forms.
    pub form: ElicitSchema,
    pub(super) server: String,
}

impl AskPerson {
    /// For a client.
    pub fn elicitation(&self) -> ElicitParams {
        ElicitParams::form(self.message.clone(), self.form.clone())
    }

    /// For a [`Person`](super::Person).
    pub fn question(&self) -> PersonQuestion {
        let (server, message, form) = (self.server.clone(), self.message.clone(), self.form.clone());
        PersonQuestion { server, message, form }
    }
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, for as long as the definition stays what it is.
    Always,
    /// No, this time.
    Deny,
    /// No, and do not ask again.
    Never,
    /// Nothing.
    Dismissed,
}

/// The field of the form that holds the choice.
pub(super) const DECISION: &str = "decision";

impl Answer {
    /// An answer as it came from a client. What is no answer is none.
    pub fn from_wire(answer: &Value) -> Self {
        serde_json::from_value::<ElicitResult>(answer.clone()).map_or(Self::Dismissed, |it| Self::from(&it))
    }

    /// Whether it is a yes.
    pub fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Always)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Deny => "deny",
            Self::Never => "never",
            Self::Dismissed => "dismissed",
        }
    }

    /// A client can answer what was not among the choices.
    pub(super) fn as_offered(self, asking: &Asking<'_>) -> Self {
        match self {
            Self::Always if !asking.can_be_always() => Self::Once,
            Self::Never if !asking.can_be_remembered() => Self::Deny,
            other => other,
        }
    }
}

impl From<&ElicitResult> for Answer {
    fn from(result: &ElicitResult) -> Self {
        let chosen = result.accepted().and_then(|answers| answers.get(DECISION));
        match (result.action, chosen) {
            (ElicitAction::Accept, Some(ElicitValue::String(word))) => match word.as_str() {
                "once" => Self::Once,
                "always" => Self::Always,
                "deny" => Self::Deny,
                "never" => Self::Never,
                _ => Self::Dismissed,
            },
            (ElicitAction::Decline, _) => Self::Deny,
            _ => Self::Dismissed,
        }
    }
}

/// How a call ended, for the audit.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// What was called.
    pub asking: &'a Asking<'a>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a result.
    Done,
    /// With a result that says that the tool failed.
    ToolError,
    /// With an error of this code.
    Error(i64),
    /// The server was not there.
    Unavailable,
    /// Whoever called did not wait for it.
    Cancelled,
    /// The connection was lost: it may have been done or not.
    Unknown,
}

/// Where a decision comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Why {
    Ruled(Because),
    Remembered,
    Answered(Answer),
    Nobody,
}

impl Why {
    pub(super) fn words(self, policy: &PolicyConfig) -> String {
        match self {
            Self::Ruled(because) => because.words(policy),
            Self::Remembered => "remembered".to_owned(),
            Self::Answered(answer) => format!("answered: {}", answer.word()),
            Self::Nobody => "nobody could be asked".to_owned(),
        }
    }
}
