//! What can be said to the verbs that use a server: lists, calls, reading, watching.

use clap::{Args, Subcommand};

use super::{Target, Words};

#[derive(Debug, Subcommand)]
pub(crate) enum Listing {
    /// Lists them all.
    List(Whole),
}

impl Listing {
    pub(crate) fn whole(&self) -> &Whole {
        let Self::List(whole) = self;
        whole
    }
}

/// A verb that is about the server alone.
#[derive(Debug, Args)]
pub(crate) struct Whole {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Whole {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// A tool, and what to call it with.
#[derive(Debug, Args)]
pub(crate) struct Calling {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which tool.
    pub(crate) tool: Option<String>,
    /// Arguments: `name=text`, read as the tool's schema says, or `name:=json`.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object; `-` reads it from standard input.
    #[arg(long, value_name = "OBJECT")]
    pub(crate) json: Option<String>,
    /// Sends arguments as they are, also those that the tool's schema refuses.
    #[arg(long)]
    pub(crate) unchecked: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Calling {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.tool], &self.arguments)
    }
}

/// A resource.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which resource.
    pub(crate) uri: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Reading {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.uri], &[])
    }
}

/// A prompt, and what to fill in.
#[derive(Debug, Args)]
pub(crate) struct Prompting {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which prompt.
    #[arg(value_name = "PROMPT")]
    pub(crate) name: Option<String>,
    /// Arguments: `name=text`.
    #[arg(value_name = "NAME=TEXT")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Prompting {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.name], &self.arguments)
    }
}

/// An argument of a prompt or of a resource template, as far as it is typed.
#[derive(Debug, Args)]
pub(crate) struct Completing {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which prompt, or which template of resources.
    #[arg(value_name = "PROMPT|TEMPLATE")]
    pub(crate) what: Option<String>,
    /// The argument that is completed, `name=` and what is typed of it; before it, others that are known.
    #[arg(value_name = "NAME=TEXT")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Completing {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.what], &self.arguments)
    }
}

/// What is followed until somebody ends it.
#[derive(Debug, Args)]
pub(crate) struct Subscribing {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Resources to follow, by their URIs. Without one: the lists of tools, prompts and resources.
    #[arg(value_name = "URI")]
    pub(crate) uris: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Subscribing {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &self.uris)
    }
}

/// A request as it is on the wire.
#[derive(Debug, Args)]
pub(crate) struct Raw {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Its method.
    pub(crate) method: Option<String>,
    /// Its parameters, a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Raw {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.method, &self.params], &[])
    }
}
