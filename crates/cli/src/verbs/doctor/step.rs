//! The steps of a walk, as data: by what name programs know each, what people read, and how the program ends where it fails.
//!
//! Names are a promise to whoever reads `-o json`: they are listed in docs/doctor.md, and none changes its meaning.

/// A question that a walk asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    File,
    Syntax,
    Entry,
    Variables,
    Standing,
    Secrets,
    Command,
    Start,
    Stdout,
    Connect,
    Tls,
    Redirect,
    Answer,
    Challenge,
    Resource,
    Issuer,
    Registration,
    Login,
    Session,
    Stream,
    Origin,
    Handshake,
    Revision,
    Capabilities,
    Lists,
    Names,
    Call,
    References,
    Descriptions,
    Annotations,
    Schemas,
    Output,
    Hidden,
    Size,
}

/// The configuration is wrong, nobody is let in, nobody is there, the server misbehaves.
pub(super) const CONFIGURATION: u8 = 1;
pub(super) const AUTHORIZATION: u8 = 3;
pub(super) const UNREACHABLE: u8 = 4;
pub(super) const MISBEHAVES: u8 = 5;

/// Each step: its name, its title, and how the program ends where it fails and nothing else was said.
const TABLE: &[(Step, &str, &str, u8)] = &[
    (Step::File, "config.file", "configuration found", CONFIGURATION),
    (Step::Syntax, "config.syntax", "it can be read", CONFIGURATION),
    (Step::Entry, "config.entry", "the entry makes sense", CONFIGURATION),
    (Step::Variables, "config.variables", "variables are set", CONFIGURATION),
    (Step::Standing, "config.standing", "it may be started", CONFIGURATION),
    (Step::Secrets, "config.secrets", "no secrets in arguments", CONFIGURATION),
    (Step::Command, "process.command", "command found", CONFIGURATION),
    (Step::Start, "process.start", "started", UNREACHABLE),
    (Step::Stdout, "process.stdout", "standard output clean", MISBEHAVES),
    (Step::Connect, "http.connect", "reached", UNREACHABLE),
    (Step::Tls, "http.tls", "encrypted", UNREACHABLE),
    (Step::Redirect, "http.redirect", "no redirect", UNREACHABLE),
    (Step::Answer, "http.answer", "an MCP server answers", UNREACHABLE),
    (Step::Challenge, "auth.challenge", "says what it wants to see", AUTHORIZATION),
    (Step::Resource, "auth.resource", "names who issues tokens", AUTHORIZATION),
    (Step::Issuer, "auth.issuer", "authorization server", AUTHORIZATION),
    (Step::Registration, "auth.registration", "takes clients like us", AUTHORIZATION),
    (Step::Login, "auth.login", "logged in", AUTHORIZATION),
    (Step::Session, "http.session", "session", MISBEHAVES),
    (Step::Stream, "http.stream", "stream not held back", MISBEHAVES),
    (Step::Origin, "http.origin", "strangers' pages refused", MISBEHAVES),
    (Step::Handshake, "protocol.handshake", "handshake", UNREACHABLE),
    (Step::Revision, "protocol.revision", "revision", MISBEHAVES),
    (Step::Capabilities, "protocol.capabilities", "capabilities", MISBEHAVES),
    (Step::Lists, "protocol.lists", "lists", MISBEHAVES),
    (Step::Names, "protocol.names", "names", MISBEHAVES),
    (Step::Call, "protocol.call", "a call", MISBEHAVES),
    (Step::References, "lint.references", "schemas without $ref", MISBEHAVES),
    (Step::Descriptions, "lint.descriptions", "descriptions", MISBEHAVES),
    (Step::Annotations, "lint.annotations", "annotations", MISBEHAVES),
    (Step::Schemas, "lint.schemas", "schemas of objects", MISBEHAVES),
    (Step::Output, "lint.output", "structured output", MISBEHAVES),
    (Step::Hidden, "lint.hidden", "nothing hidden", MISBEHAVES),
    (Step::Size, "lint.size", "size", MISBEHAVES),
];

/// From a name to an entry.
pub(super) const CONFIGURED: &[Step] =
    &[Step::File, Step::Syntax, Step::Entry, Step::Variables, Step::Standing];
/// From a command to a process that speaks.
pub(super) const PROCESS: &[Step] = &[Step::Command, Step::Start, Step::Stdout];
/// From an address to a server that lets us in. What is asked only of servers that want a login is not among these.
pub(super) const ADDRESS: &[Step] =
    &[Step::Connect, Step::Tls, Step::Redirect, Step::Answer, Step::Session, Step::Stream];
/// From a connection to a call.
pub(super) const PROTOCOL: &[Step] = &[
    Step::Handshake,
    Step::Revision,
    Step::Capabilities,
    Step::Lists,
    Step::Names,
    Step::Call,
    Step::References,
    Step::Descriptions,
    Step::Annotations,
    Step::Schemas,
    Step::Output,
    Step::Hidden,
    Step::Size,
];

impl Step {
    fn row(self) -> &'static (Self, &'static str, &'static str, u8) {
        TABLE.iter().find(|(step, ..)| *step == self).unwrap_or(&TABLE[0])
    }

    pub(super) fn id(self) -> &'static str {
        self.row().1
    }

    pub(super) fn title(self) -> &'static str {
        self.row().2
    }

    /// Its title, or what all of its kind are called where none of them was reached.
    pub(super) fn topic(self) -> &'static str {
        if self.id().starts_with("lint.") { "what clients stumble over" } else { self.title() }
    }

    pub(super) fn exit(self) -> u8 {
        self.row().3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_step() {
        let page = include_str!("../../../../../docs/doctor.md");
        for (step, id, ..) in TABLE {
            assert!(page.contains(&format!("| `{id}` |")), "{id} is not in docs/doctor.md");
            assert_eq!(step.id(), *id);
        }
        let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains('.')).count();
        assert_eq!(rows, TABLE.len(), "docs/doctor.md has rows of no step");
    }

    #[test]
    fn plans_are_made_of_steps() {
        let planned = [CONFIGURED, PROCESS, ADDRESS, PROTOCOL].concat();
        assert!(planned.iter().all(|step| step.row().0 == *step));
    }
}
