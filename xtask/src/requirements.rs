//! The requirement catalogue, `spec/requirements/*.yaml`.
//!
//! Reads the small part of YAML that spec/README.md describes and refuses everything else with the line
//! number: a catalogue that is half understood would report coverage that nobody has.

use crate::workspace::TextFile;
use std::collections::BTreeMap;

/// How binding an entry is. MUST and MUST NOT count as one, as do SHOULD and SHOULD NOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// MUST or MUST NOT.
    Must,
    /// SHOULD or SHOULD NOT.
    Should,
    /// MAY.
    May,
}

/// One entry of the catalogue, as far as xtask uses it.
#[derive(Debug)]
pub struct Requirement {
    /// The name of the file without its ending.
    pub area: String,
    /// How binding it is.
    pub level: Level,
    /// What is asked, in our words.
    pub text: String,
}

/// The catalogue by id.
pub type Catalogue = BTreeMap<String, Requirement>;

const DIRECTORY: &str = "spec/requirements/";
const MEMBERS: [&str; 6] = ["level", "side", "revisions", "text", "test", "source"];

/// Reads every file of the catalogue; all mistakes are listed at once.
pub fn load(files: &[TextFile]) -> Result<Catalogue, Vec<String>> {
    let mut catalogue = Catalogue::new();
    let mut mistakes = Vec::new();
    for file in files {
        let Some(name) = file.path.strip_prefix(DIRECTORY) else { continue };
        let Some(area) = name.strip_suffix(".yaml") else { continue };
        match parse(&file.text) {
            Ok(entries) => {
                for (id, level, text) in entries {
                    let entry = Requirement { area: area.to_owned(), level, text };
                    if catalogue.insert(id.clone(), entry).is_some() {
                        mistakes.push(format!("{}: the id {id} is used twice", file.path));
                    }
                }
            }
            Err((line, what)) => mistakes.push(format!("{}:{line}: {what}", file.path)),
        }
    }
    if catalogue.is_empty() && mistakes.is_empty() {
        mistakes.push(format!("{DIRECTORY}: no requirements found"));
    }
    if mistakes.is_empty() { Ok(catalogue) } else { Err(mistakes) }
}

type Entry = (String, Level, String);

fn parse(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut entries = Vec::new();
    let mut open: Option<(usize, String, BTreeMap<String, String>)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(id) = line.strip_prefix("- id: ") {
            entries.extend(open.take().map(finish).transpose()?);
            if !is_id(id) {
                return Err((number, format!("`{id}` is not an id: capitals, digits and hyphens")));
            }
            open = Some((number, id.to_owned(), BTreeMap::new()));
            continue;
        }
        let member = line.strip_prefix("  ").and_then(|rest| rest.split_once(": "));
        let (Some((key, value)), Some((_, _, members))) = (member, open.as_mut()) else {
            return Err((number, "expected `- id: ID` or `  key: value`".to_owned()));
        };
        if !MEMBERS.contains(&key) {
            return Err((number, format!("`{key}` is not a member of an entry ({})", MEMBERS.join(", "))));
        }
        let value = read_value(value).map_err(|what| (number, what))?;
        if members.insert(key.to_owned(), value).is_some() {
            return Err((number, format!("`{key}` is given twice")));
        }
    }
    entries.extend(open.map(finish).transpose()?);
    Ok(entries)
}

/// Whether the text has the form of a requirement id, `AREA-SOME-WORDS`.
pub fn is_id(text: &str) -> bool {
    let inner = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-');
    inner && text.contains('-') && !text.starts_with('-') && !text.ends_with('-')
}

/// A value is JSON if it starts like JSON, else a bare word; lists are kept as their JSON text.
fn read_value(value: &str) -> Result<String, String> {
    match value.as_bytes().first() {
        Some(b'"') => serde_json::from_str(value).map_err(|error| format!("bad string: {error}")),
        Some(b'[') => serde_json::from_str::<Vec<String>>(value)
            .map(|_| value.to_owned())
            .map_err(|error| format!("bad list of strings: {error}")),
        _ => Ok(value.to_owned()),
    }
}

fn finish(
    (line, id, mut members): (usize, String, BTreeMap<String, String>),
) -> Result<Entry, (usize, String)> {
    if let Some(missing) = MEMBERS.iter().find(|key| !members.contains_key(**key)) {
        return Err((line, format!("{id} has no `{missing}`")));
    }
    let level = match members["level"].as_str() {
        "MUST" | "MUST NOT" => Level::Must,
        "SHOULD" | "SHOULD NOT" => Level::Should,
        "MAY" => Level::May,
        other => return Err((line, format!("{id}: `{other}` is not a level"))),
    };
    Ok((id, level, members.remove("text").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "- id: PING-RESPOND\n  level: MUST\n  side: both\n  revisions: [\"2025-06-18\"]\n  \
                         text: \"Answer \\\"ping\\\".\"\n  test: \"t\"\n  source: \"s\"\n";

    #[test]
    fn an_entry_is_read() {
        let entries = parse(ENTRY).unwrap();
        assert_eq!(entries, [("PING-RESPOND".to_owned(), Level::Must, "Answer \"ping\".".to_owned())]);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        assert_eq!(parse("level: MUST\n").unwrap_err().0, 1);
        assert_eq!(parse(&ENTRY.replace("\"t\"", "\"t")).unwrap_err().0, 6);
        assert!(parse(&ENTRY.replace("MUST", "SHALL")).unwrap_err().1.contains("SHALL"));
        assert!(parse(&ENTRY.replace("  side: both\n", "")).unwrap_err().1.contains("side"));
    }

    #[test]
    fn an_id_used_twice_is_a_mistake() {
        let path = format!("{DIRECTORY}ping.yaml");
        let files = [TextFile { path, text: ENTRY.repeat(2) }];
        assert!(load(&files).unwrap_err()[0].contains("twice"));
    }
}
