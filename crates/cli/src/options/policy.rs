//! What can be said to the verb `policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use contexture_host::consent::Kind;

use super::Format;
use super::serving::{Hosts, hosts};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Says what would happen to a call, and what each rule says to it. Nothing is called, and no server is started.
    Explain(Explaining),
    /// Checks a table of expectations: a JSON array of objects with `server`, one of `tool`, `prompt`, `resource` and `kind`, perhaps
    /// `arguments`, `principal`, `annotations` and `trusted`, and `expect`.
    Test {
        /// The table.
        file: PathBuf,
        #[command(flatten)]
        policy: Policies,
    },
    /// What people have answered for good.
    Answers(Policies),
    /// Forgets what people have answered for good, so that they are asked again.
    Forget {
        /// About which server.
        server: String,
        /// About which tool, prompt or resource only.
        name: Option<String>,
        #[command(flatten)]
        policy: Policies,
    },
}

impl PolicyVerb {
    pub(crate) fn policies(&self) -> &Policies {
        match self {
            Self::Explain(explaining) => &explaining.policy,
            Self::Test { policy, .. } | Self::Answers(policy) | Self::Forget { policy, .. } => policy,
        }
    }
}

/// A call that is not made.
#[derive(Debug, Args)]
pub(crate) struct Explaining {
    /// The server's name in the configuration.
    pub(crate) server: String,
    /// The tool as that server calls it; or the prompt, or the resource's URI.
    #[arg(default_value = "")]
    pub(crate) name: String,
    /// Arguments: `name=text` or `name:=json`.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// What it is.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) kind: Wish,
    /// Who calls: `ISSUER SUBJECT`, or `anonymous`; the user of this machine, if nothing is said.
    #[arg(long, value_name = "WHO", default_value = "local")]
    pub(crate) principal: String,
    /// What the server says about the tool, as a JSON object: `{"readOnlyHint": true}`. No server is asked, so without this it is what was
    /// known when a person was last asked about the tool, if anything. Counts only for servers that are trusted.
    #[arg(long, value_name = "OBJECT")]
    pub(crate) annotations: Option<String>,
    #[command(flatten)]
    pub(crate) policy: Policies,
}

/// Whose policy.
#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// A configuration, ours or another host's; can be repeated. Without one: contexture.json, here or the user's own.
    #[arg(long = "config", value_name = "FILE", conflicts_with = "from")]
    pub(crate) files: Vec<PathBuf>,
    /// Reads the configuration of these hosts, too, as `run` does.
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = hosts)]
    pub(crate) from: Vec<Hosts>,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wish {
    /// A call of a tool.
    #[default]
    Tool,
    /// A prompt is fetched.
    Prompt,
    /// A resource is read.
    Resource,
    /// The server asks a model.
    Sampling,
    /// The server asks for the roots.
    Roots,
    /// The server asks the person.
    Elicitation,
    /// A login at the server.
    Login,
}

impl From<Wish> for Kind {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Tool => Self::Tool,
            Wish::Prompt => Self::Prompt,
            Wish::Resource => Self::Resource,
            Wish::Sampling => Self::Sampling,
            Wish::Roots => Self::Roots,
            Wish::Elicitation => Self::Elicitation,
            Wish::Login => Self::Login,
        }
    }
}
