//! Beginning a record of a session: where it is kept, what it is of, and what must not be in it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contexture_host::config::TransportSpec;

use crate::exit::Failure;
use crate::options::Target;
use crate::place::Place;
use crate::transcript::{Recorder, Redactor, is_secret};

/// The one record of this process: those who connect again go on with it.
static BEGUN: Mutex<Option<(PathBuf, Recorder)>> = Mutex::new(None);

/// Begins a record in this file, if there is one, or goes on with it.
pub(crate) fn begin(
    place: &Place,
    target: &Target,
    path: Option<&Path>,
) -> Result<Option<Recorder>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, recorder)) = begun.as_ref().filter(|(known, _)| known == path) {
        return Ok(Some(recorder.clone()));
    }
    if let Place::Transcript(played) = place
        && is_same(played, path)
    {
        let what = format!("{} is what is played: it cannot be written at the same time", path.display());
        return Err(Failure::usage(what));
    }
    let redactor = (!target.no_redact).then(|| Redactor::new(secrets(place, target)));
    let recorder = Recorder::create(path, (&name(place), transport(place)), redactor)?;
    *begun = Some((path.to_owned(), recorder.clone()));
    Ok(Some(recorder))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// What the server is called, for those who read the record.
fn name(place: &Place) -> String {
    match place {
        Place::Demo => "demo".to_owned(),
        // Addresses may have passwords and keys in them.
        Place::Url(url) => bare(url),
        Place::Command(command) => {
            let words: Vec<_> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            without_secrets(&words).join(" ")
        }
        Place::Configured(entry) => entry.full_name(),
        Place::Transcript(path) => path.display().to_string(),
    }
}

/// A command without what stands behind options such as `--token`.
fn without_secrets(words: &[String]) -> Vec<String> {
    let is_secret_option = |word: &str| word.starts_with('-') && is_secret(word);
    let mut before = "";
    let mut kept = Vec::new();
    for word in words {
        kept.push(match word.split_once('=') {
            Some((name, _)) if is_secret_option(name) => format!("{name}=…"),
            _ if is_secret_option(before) => "…".to_owned(),
            _ => word.clone(),
        });
        before = word;
    }
    kept
}

/// A URL without who asks, and without its query.
pub(crate) fn bare(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

fn transport(place: &Place) -> &'static str {
    match place {
        Place::Demo | Place::Transcript(_) => "memory",
        Place::Url(_) => "http",
        Place::Command(_) => "stdio",
        Place::Configured(entry) => match entry.transport {
            TransportSpec::Http { .. } => "http",
            TransportSpec::Stdio { .. } => "stdio",
        },
    }
}

/// What was given to the server and is nobody else's.
fn secrets(place: &Place, target: &Target) -> Vec<String> {
    let variables = target.env.iter().filter_map(|variable| match variable.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => std::env::var(variable).ok(),
    });
    let headers = target.headers.iter().flat_map(|(_, value)| shown(value));
    let mut secrets: Vec<String> = variables.chain(headers).collect();
    if let Place::Configured(entry) = place {
        match &entry.transport {
            TransportSpec::Http { headers, .. } => {
                secrets.extend(headers.iter().flat_map(|(_, value)| shown(value.expose())));
            }
            TransportSpec::Stdio { env, .. } => {
                secrets.extend(env.values().map(|value| value.expose().to_owned()));
            }
        }
    }
    secrets
}

/// A header's value, and what stands in it behind a scheme such as `Bearer`.
fn shown(value: &str) -> Vec<String> {
    let behind = value.split_once(' ').map(|(_, behind)| behind.trim().to_owned());
    std::iter::once(value.to_owned()).chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_kept_without_what_is_secret() {
        let words = ["srv", "--api-key", "k1", "--token=t2", "-v", "x"].map(str::to_owned);
        assert_eq!(without_secrets(&words).join(" "), "srv --api-key … --token=… -v x");
    }

    #[test]
    fn addresses_are_kept_without_what_may_be_secret() {
        assert_eq!(bare("https://me:pass@example.com/mcp?key=1#x"), "https://example.com/mcp");
        assert_eq!(bare("http://127.0.0.1:8000"), "http://127.0.0.1:8000");
    }
}
