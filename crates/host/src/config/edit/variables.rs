//! Variables in texts, taken apart and put together again in another host's words. Nothing is filled in.

use std::path::{MAIN_SEPARATOR, Path};

use serde_json::Value;

use crate::config::entry::HostKind;
use crate::config::expand::{Syntax, input_variable, is_name};
use crate::config::places::{Platform, Sources};

/// Text, and what stands in it for something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Variable {
        name: String,
        default: Option<String>,
    },
    /// A secret in the keyring.
    Secret(String),
    /// What VS Code asks for.
    Input(String),
}

/// The parts of a text as a host writes it, or why it means nothing elsewhere.
pub(super) fn read(
    syntax: Syntax,
    text: &str,
    sources: &Sources,
    workspace: &Path,
) -> Result<Vec<Part>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('$').filter(|_| syntax != Syntax::Plain) {
        push(&mut parts, &rest[..at]);
        let after = &rest[at + 1..];
        let (part, taken) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            _ if syntax == Syntax::Own && after.starts_with("${") => (Some(Part::Text("${".to_owned())), 2),
            Some((inner, _)) => (one(syntax, inner, sources, workspace)?, inner.len() + 2),
            None if syntax == Syntax::Own && after.starts_with('{') => {
                return Err("a `${` has no `}`: write `$${` for a plain `${`".to_owned());
            }
            None if syntax == Syntax::Dollar => {
                let name = &after[..after.find(|char| !is_name(char)).unwrap_or(after.len())];
                // One that is not set is no variable but a text with a dollar in it.
                let is_set = sources.environment.get(name).is_some();
                (variable(name).filter(|_| is_set), name.len())
            }
            None => (None, 0),
        };
        match part {
            Some(Part::Text(text)) => push(&mut parts, &text),
            Some(part) => parts.push(part),
            None => push(&mut parts, "$"),
        }
        let is_part = !matches!(parts.last(), Some(Part::Text(text)) if text.ends_with('$'));
        rest = if is_part { &after[taken..] } else { after };
    }
    push(&mut parts, rest);
    Ok(parts)
}

/// What stands between `${` and `}`; nothing, if it stands for itself.
fn one(syntax: Syntax, inner: &str, sources: &Sources, workspace: &Path) -> Result<Option<Part>, String> {
    let path = |path: &Path| Some(Part::Text(path.to_string_lossy().into_owned()));
    let part = match (syntax, inner.split_once(':')) {
        (Syntax::Own | Syntax::Editor, Some(("env", name))) => variable(name),
        (Syntax::Own, Some(("keyring", name))) if !name.is_empty() => Some(Part::Secret(name.to_owned())),
        (Syntax::Own | Syntax::Editor, Some(("input", id))) if !id.is_empty() => {
            Some(Part::Input(id.to_owned()))
        }
        (Syntax::Editor, None) => match inner {
            "workspaceFolder" => path(workspace),
            "workspaceFolderBasename" => path(workspace.file_name().unwrap_or_default().as_ref()),
            "userHome" if sources.platform == Platform::Windows => variable("USERPROFILE"),
            "userHome" => variable("HOME"),
            "pathSeparator" | "/" => Some(Part::Text(MAIN_SEPARATOR.to_string())),
            _ => None,
        },
        (Syntax::Editor, _) => None,
        _ => match inner.split_once(":-") {
            Some((name, default)) => variable(name)
                .map(|_| Part::Variable { name: name.to_owned(), default: Some(default.to_owned()) }),
            None => variable(inner),
        },
    };
    match (part, syntax) {
        (None, Syntax::Own) => {
            Err(format!("`${{{inner}}}` is no variable: write `${{NAME}}`, or `$${{` for a plain `${{`"))
        }
        (None, Syntax::Editor) => Err(format!("`${{{inner}}}` means nothing outside of its editor")),
        (part, _) => Ok(part),
    }
}

fn variable(name: &str) -> Option<Part> {
    let good = !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(|char: char| char.is_ascii_digit());
    good.then(|| Part::Variable { name: name.to_owned(), default: None })
}

fn push(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// The same in a host's words, or why it has none.
pub(super) fn write(host: HostKind, syntax: Syntax, parts: &[Part]) -> Result<String, String> {
    let mut out = String::new();
    for part in parts {
        // Elsewhere it is looked for in a variable.
        let part = match part {
            Part::Input(id) if host != HostKind::VsCode && host != HostKind::Contexture => {
                &Part::Variable { name: input_variable(id), default: None }
            }
            part => part,
        };
        match (part, syntax) {
            (Part::Input(id), _) => out.push_str(&format!("${{input:{id}}}")),
            (Part::Text(text), Syntax::Own) => out.push_str(&text.replace("${", "$${")),
            (Part::Text(text), Syntax::Plain) => out.push_str(text),
            (Part::Text(text), Syntax::Dollar) if has_dollar(text) => return Err(no_plain(host)),
            (Part::Text(text), _) if text.contains("${") => return Err(no_plain(host)),
            (Part::Text(text), _) => out.push_str(text),
            (Part::Secret(name), Syntax::Own) => out.push_str(&format!("${{keyring:{name}}}")),
            // VS Code asks for it once, and keeps it in a keyring of its own.
            (Part::Secret(name), _) if host == HostKind::VsCode => {
                out.push_str(&format!("${{input:{}}}", name.replace('/', "-")));
            }
            (Part::Secret(_), _) => return Err(format!("{host} cannot look into the keyring")),
            (Part::Variable { name, .. }, Syntax::Plain) => {
                return Err(format!("{host} does not fill in variables ({name})"));
            }
            (Part::Variable { name, default: None }, Syntax::Editor) => {
                out.push_str(&format!("${{env:{name}}}"))
            }
            (Part::Variable { name, .. }, Syntax::Editor) => {
                return Err(format!("{host} has no defaults for variables ({name})"));
            }
            (Part::Variable { name, default: None }, _) => out.push_str(&format!("${{{name}}}")),
            (Part::Variable { name, default: Some(default) }, _) => {
                out.push_str(&format!("${{{name}:-{default}}}"));
            }
        }
    }
    Ok(out)
}

fn has_dollar(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| text[at + 1..].starts_with(|char| char == '{' || is_name(char)))
}

fn no_plain(host: HostKind) -> String {
    format!("{host} would take a `$` in it for a variable")
}

/// The secrets in the keyring that an entry of ours refers to, by their names.
pub fn referred_secrets(value: &Value) -> Vec<String> {
    referred(value, "${keyring:")
}

/// What stands behind this mark, up to a `}`.
pub(super) fn referred(value: &Value, mark: &str) -> Vec<String> {
    match value {
        Value::String(text) => {
            let after = text.split(mark).skip(1);
            after.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
        }
        Value::Array(values) => values.iter().flat_map(|value| referred(value, mark)).collect(),
        Value::Object(members) => members.values().flat_map(|value| referred(value, mark)).collect(),
        _ => Vec::new(),
    }
}
