//! The client under test: plays the part that the suite names, and fails if the server does not answer.
//!
//! It declares everything that a client can declare, and answers what it is asked with what was asked for.
//! Of the extensions only those of authorization are played.

mod answers;
mod login;
mod parts;

use std::fmt;

use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::{Client, Error};
use serde_json::Value;

pub use answers::answer;
pub use parts::Scenario;

/// What the suite tells its client to do.
#[derive(Debug, Clone)]
pub struct Part {
    /// The suite's name for it.
    pub name: String,
    /// What to play.
    pub scenario: Scenario,
    /// What the server speaks.
    pub revision: Revision,
    /// What the scenario adds: an object, or nothing.
    pub context: Value,
}

/// Why the part was not played.
#[derive(Debug)]
pub enum Failure {
    /// Nobody knows how to play it.
    Unknown(String),
    /// It went wrong.
    Failed(Error),
}

impl Part {
    /// Reads the suite's environment variables through `variable`.
    ///
    /// # Errors
    /// When a variable is missing or says something that is not known here.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let needed = |name: &str| {
            variable(name).ok_or_else(|| Failure::Unknown(format!("{name} is not set: the suite sets it")))
        };
        let name = needed("MCP_CONFORMANCE_SCENARIO")?;
        let scenario = Scenario::parse(&name)
            .ok_or_else(|| Failure::Unknown(format!("there is no part for the scenario {name:?}")))?;
        let date = needed("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
        let revision = Revision::parse(&date)
            .ok_or_else(|| Failure::Unknown(format!("there is no revision {date:?}")))?;
        let context = variable("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|| "null".to_owned());
        let context = serde_json::from_str(&context)
            .map_err(|error| Failure::Unknown(format!("MCP_CONFORMANCE_CONTEXT is not JSON: {error}")))?;
        Ok(Self { name, scenario, revision, context })
    }

    /// A client for it, in the making. It is not told the revision: it has to find out.
    pub fn client(&self) -> contexture::Result<Builder> {
        let builder = Client::builder()
            .name("contexture-conformance", env!("CARGO_PKG_VERSION"))
            .elicitation(answers::elicitation())
            .sampling(answers::sampling());
        let builder = builder.roots(answers::roots()?);
        match self.scenario {
            Scenario::Protected => {
                Ok(builder.authorization(login::authorization(&self.name, &self.context)?))
            }
            _ => Ok(builder),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(what) => f.write_str(what),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
