//! Questions to people: what they are shown, and who can be asked where no client can.
//!
//! Everything that a server or a caller wrote is escaped, cut and put behind a margin or in quotes, so that it cannot look like
//! what we say ourselves.

use contexture::model::{ElicitParams, ElicitResult, ElicitSchema, EnumOption, EnumSchema, Tool};
use contexture::server::BoxFuture;

use super::asking::{AskPerson, Asking, DECISION, shown};
use super::case::Kind;
use super::text::{cut, laid_out, safe_line};

/// Characters of a server's own description.
const DESCRIPTION: usize = 400;
/// Bytes of the arguments as they are shown.
const ARGUMENTS: usize = 4_000;

/// Somebody who can be asked where no client can: at the terminal, or in an inbox.
pub trait Person: Send + Sync {
    /// Asks, one question at a time. Whoever cannot be reached has cancelled.
    fn ask(&self, question: PersonQuestion) -> BoxFuture<ElicitResult>;
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonQuestion {
    /// The server that it is about, as the configuration calls it.
    pub server: String,
    /// What it is about. Harmless to show as it is.
    pub message: String,
    /// What they can say.
    pub form: ElicitSchema,
}

impl PersonQuestion {
    /// The same for a client.
    pub fn elicitation(&self) -> ElicitParams {
        ElicitParams::form(self.message.clone(), self.form.clone())
    }
}

/// Puts the server's name before what it asks the person, so that nobody takes its words for ours or another's.
pub fn attributed(server: &str, params: ElicitParams) -> ElicitParams {
    let from = |message: String| format!("Server {} asks: {message}", shown(server));
    match params {
        ElicitParams::Form(mut form) => {
            form.message = from(form.message);
            ElicitParams::Form(form)
        }
        ElicitParams::Url(mut url) => {
            url.message = from(url.message);
            ElicitParams::Url(url)
        }
        other => other,
    }
}

/// The question whether this may be done.
pub(super) fn about(asking: &Asking<'_>, changed: bool) -> AskPerson {
    let mut message = heading(asking);
    if changed {
        message.push_str(
            "\nATTENTION: this is not what you allowed before. Its definition, or the server's entry in the \
             configuration, has changed since.",
        );
    }
    if let Some(definition) = asking.definition {
        describe(&mut message, definition, asking.server.trusted);
    }
    if let Some(arguments) = asking.arguments {
        let (text, left) = laid_out(arguments.get(), ARGUMENTS, "  | ");
        message.push_str("\nArguments:\n");
        message.push_str(&text);
        if left > 0 {
            message.push_str(&format!("\n… and {left} more bytes that are NOT shown here."));
        }
    } else if asking.kind == Kind::Tool {
        message.push_str("\nWithout arguments.");
    }
    AskPerson { message, form: choices(asking), server: asking.server.name.clone() }
}

fn heading(asking: &Asking<'_>) -> String {
    let server = shown(&asking.server.name);
    match asking.kind {
        Kind::Tool if asking.shown != asking.tool => format!(
            "Allow a call of the tool {} of server {server} (listed as {})?",
            shown(asking.tool),
            shown(asking.shown)
        ),
        Kind::Tool => format!("Allow a call of the tool {} of server {server}?", shown(asking.tool)),
        Kind::Prompt => format!("Fetch the prompt {} of server {server}?", shown(asking.tool)),
        Kind::Resource => format!("Read the resource {} of server {server}?", shown(asking.tool)),
        Kind::Sampling => format!("Let server {server} ask a model?"),
        Kind::Roots => format!("Tell server {server} which folders (roots) you work in?"),
        Kind::Elicitation => format!("Let server {server} ask you something?"),
        Kind::Login => format!("Log in at server {server} in your name?"),
    }
}

fn describe(message: &mut String, tool: &Tool, trusted: bool) {
    let doubt = if trusted { "" } else { " (which nobody has checked)" };
    if tool.display_name() != tool.name {
        message.push_str(&format!("\nThe server calls it {}{doubt}.", shown(tool.display_name())));
    }
    if let Some(description) = &tool.description {
        let words = safe_line(&cut(description, DESCRIPTION));
        message.push_str(&format!("\nWhat the server says about it{doubt}: \"{words}\""));
    }
    let Some(hints) = &tool.annotations else { return };
    let mut claims = Vec::new();
    if hints.is_read_only() {
        claims.push("that it changes nothing");
    } else if hints.destructive_hint == Some(true) {
        claims.push("that it may destroy something");
    }
    if hints.open_world_hint == Some(true) {
        claims.push("that it reaches beyond this machine");
    }
    if !claims.is_empty() {
        message.push_str(&format!("\nThe server says {}{doubt}.", claims.join(" and ")));
    }
}

fn choices(asking: &Asking<'_>) -> ElicitSchema {
    let (always, never) = match asking.kind {
        Kind::Tool => ("Always allow this tool, until its definition changes", "Never allow this tool"),
        Kind::Prompt => ("Always allow this prompt", "Never allow this prompt"),
        Kind::Resource => ("Always allow this resource", "Never allow this resource"),
        _ => ("Always allow this for this server", "Never allow this for this server"),
    };
    let mut options = vec![EnumOption::from(("once", "Allow once"))];
    if asking.can_be_always() {
        options.push(("always", always).into());
    }
    options.push(("deny", "Deny").into());
    if asking.can_be_remembered() {
        options.push(("never", never).into());
    }
    ElicitSchema::new().required(DECISION, EnumSchema::new(options).title("Your decision"))
}
