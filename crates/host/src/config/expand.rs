//! Variables in configured text: each host's own way to write them, and no other.
//!
//! What a variable holds is put in as it is and not looked at again. A variable that is not set, and has no default, is a
//! fault that names it; what is in one is never part of a fault.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{MAIN_SEPARATOR, Path};

use contexture::auth::SecretStore;

/// How much text all variables of one file may become: far more than anyone means, far less than the memory.
const MOST: usize = 16 << 20;

/// The variables of a process. `Debug` shows none of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process; what is no text is left out.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// What a variable holds, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment({} variables)", self.0.len())
    }
}

/// How a host writes variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Not at all.
    Plain,
    /// `${VAR}`, `${VAR:-default}`.
    Shell,
    /// `$VAR`, `${VAR}`, `${VAR:-default}`.
    Dollar,
    /// `${env:VAR}`, `${workspaceFolder}`, `${userHome}` and their kin, `${input:id}`.
    Editor,
    /// Ours: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${keyring:SERVER/NAME}`; `$${` is a plain `${`.
    Own,
}

/// What variables stand for while one file is read.
pub(super) struct Expand<'a> {
    pub(super) syntax: Syntax,
    pub(super) environment: &'a Environment,
    pub(super) home: &'a Path,
    pub(super) workspace: &'a Path,
    secrets: Option<&'a SecretStore>,
    pub(super) left: Cell<usize>,
}

impl<'a> Expand<'a> {
    pub(super) fn new(
        syntax: Syntax,
        environment: &'a Environment,
        home: &'a Path,
        workspace: &'a Path,
        secrets: Option<&'a SecretStore>,
    ) -> Self {
        Self { syntax, environment, home, workspace, secrets, left: Cell::new(MOST) }
    }

    /// The text with its variables filled in, or what is wrong with it.
    pub(super) fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let (value, taken) = self.variable(after)?;
            out.push_str(&value);
            self.spend(value.len())?;
            rest = &after[taken..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// What stands for the `$` and some of what follows it, and how much of that.
    fn variable(&self, after: &str) -> Result<(String, usize), String> {
        let literal = Ok(("$".to_owned(), 0));
        if self.syntax == Syntax::Plain {
            return literal;
        }
        if self.syntax == Syntax::Own && after.starts_with("${") {
            return Ok(("${".to_owned(), 2));
        }
        let Some(inner) = after.strip_prefix('{') else {
            return match self.syntax {
                Syntax::Dollar => Ok(self.bare(after)),
                _ => literal,
            };
        };
        let Some(end) = inner.find('}') else {
            return if self.syntax == Syntax::Own { Err(unfinished()) } else { literal };
        };
        let value = match self.syntax {
            Syntax::Shell | Syntax::Dollar => self.shell(&inner[..end])?,
            Syntax::Editor => Some(self.editor(&inner[..end])?),
            Syntax::Own | Syntax::Plain => Some(self.own(&inner[..end])?),
        };
        match value {
            Some(value) => Ok((value, end + 2)),
            None => literal,
        }
    }

    /// `$VAR`; one that is not set is no variable but a text with a dollar in it.
    fn bare(&self, after: &str) -> (String, usize) {
        let length = after.find(|char: char| !is_name(char)).unwrap_or(after.len());
        match self.environment.get(&after[..length]) {
            Some(value) if length > 0 => (value.to_owned(), length),
            _ => ("$".to_owned(), 0),
        }
    }

    /// `VAR` or `VAR:-default`; `None` if it is neither, and so stands for itself.
    fn shell(&self, inner: &str) -> Result<Option<String>, String> {
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if name.is_empty()
            || !name.chars().all(is_name)
            || name.starts_with(|char: char| char.is_ascii_digit())
        {
            return Ok(None);
        }
        match (self.environment.get(name).filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(value), _) | (None, Some(value)) => Ok(Some(value.to_owned())),
            (None, None) => Err(unset(name)),
        }
    }

    fn own(&self, inner: &str) -> Result<String, String> {
        if let Some(name) = inner.strip_prefix("env:") {
            return self.environment.get(name).map(str::to_owned).ok_or_else(|| unset(name));
        }
        if let Some(name) = inner.strip_prefix("keyring:") {
            return self.secret(name);
        }
        // As it comes from VS Code.
        if let Some(id) = inner.strip_prefix("input:") {
            return self.input(id);
        }
        self.shell(inner)?.ok_or_else(|| {
            format!("`${{{inner}}}` is no variable: write `${{NAME}}`, `${{NAME:-default}}`, `${{keyring:SERVER/NAME}}` or `${{env:NAME}}`, and `$${{` for a plain `${{`")
        })
    }

    fn input(&self, id: &str) -> Result<String, String> {
        let name = input_variable(id);
        self.environment.get(&name).map(str::to_owned).ok_or_else(|| {
            format!("the input {id:?} is asked for by its host, not here: put it into the variable {name}")
        })
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        let found =
            self.secrets.map(|secrets| secrets.find(name)).transpose().map_err(|error| error.to_string())?;
        found.flatten().map(|secret| secret.expose().to_owned()).ok_or_else(|| {
            format!("the keyring has no secret {name:?}: `contexture add` with `--secret` asks for it")
        })
    }

    fn editor(&self, inner: &str) -> Result<String, String> {
        if let Some(name) = inner.strip_prefix("env:") {
            return self.environment.get(name).map(str::to_owned).ok_or_else(|| unset(name));
        }
        if let Some(id) = inner.strip_prefix("input:") {
            return self.input(id);
        }
        let shown = |path: &Path| Ok(path.to_string_lossy().into_owned());
        match inner {
            "workspaceFolder" => shown(self.workspace),
            "userHome" => shown(self.home),
            "workspaceFolderBasename" => Ok(self
                .workspace
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()),
            "pathSeparator" | "/" => Ok(MAIN_SEPARATOR.to_string()),
            _ => Err(format!(
                "`${{{inner}}}` means nothing outside of its editor: write the value itself, or use `${{env:NAME}}`"
            )),
        }
    }

    pub(super) fn spend(&self, bytes: usize) -> Result<(), String> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(format!("the variables of this file become more than {MOST} bytes")),
        }
    }
}

/// Where an input of VS Code's is looked for.
pub(super) fn input_variable(id: &str) -> String {
    let id: String = id
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' })
        .collect();
    format!("CONTEXTURE_INPUT_{id}")
}

pub(super) fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn unset(name: &str) -> String {
    format!("the variable {name} is not set: set it, or give the value here")
}

fn unfinished() -> String {
    "a `${` has no `}`: write `$${` for a plain `${`".to_owned()
}
