//! What rules look at.

use std::fmt;

use contexture::Principal;
use contexture::model::ToolAnnotations;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The digest of a definition.
pub type Pin = [u8; 32];

/// What is allowed, asked about or denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A call of a tool.
    Tool,
    /// A prompt is fetched.
    Prompt,
    /// A resource is read or watched.
    Resource,
    /// A server asks a model.
    Sampling,
    /// A server wants to know the roots.
    Roots,
    /// A server asks the person.
    Elicitation,
    /// A login at a server, in the caller's name.
    Login,
}

impl Kind {
    /// The word for it in policies.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
            Self::Elicitation => "elicitation",
            Self::Login => "login",
        }
    }
}

/// What is to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It is done.
    Allow,
    /// A person decides.
    Ask,
    /// It is not done.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// One thing that somebody wants to do, as far as rules can see it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What it is.
    pub kind: Kind,
    /// The server's name in the configuration.
    pub server: &'a str,
    /// Whether that server's annotations are believed.
    pub trusted: bool,
    /// The tool's or prompt's name at that server, or the resource's URI; empty where there is none.
    pub name: &'a str,
    /// Who wants it.
    pub principal: &'a Principal,
    /// What the server says about the tool; `None` if its definition is not known.
    pub annotations: Option<&'a ToolAnnotations>,
    /// What the tool would get.
    pub arguments: Option<&'a RawValue>,
}

/// A principal in one line, as rules and people see it: the issuer and the subject, or the subject alone where nobody
/// vouches for it.
pub fn named(principal: &Principal) -> String {
    match principal.issuer() {
        "" => principal.subject().to_owned(),
        issuer => format!("{issuer} {}", principal.subject()),
    }
}
