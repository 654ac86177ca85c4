//! Answers to a form: completed with defaults, and checked before they leave.
//!
//! An answer to something that was not asked is refused, because it would tell the server what nobody
//! meant to tell it.

use std::collections::BTreeMap;

use crate::model::{ElicitSchema, ElicitValue, EnumOption, PrimitiveSchema, StringFormat, StringSchema};

/// The answers with defaults filled in, or what is wrong with them.
pub(super) fn complete(
    schema: &ElicitSchema,
    mut answers: BTreeMap<String, ElicitValue>,
) -> Result<BTreeMap<String, ElicitValue>, String> {
    for (name, property) in &schema.properties {
        if !answers.contains_key(name)
            && let Some(value) = default_of(property)
        {
            answers.insert(name.clone(), value);
        }
    }
    if let Some(missing) = schema.required.iter().find(|name| !answers.contains_key(*name)) {
        return Err(format!("{missing:?} is missing"));
    }
    for (name, value) in &answers {
        let property = schema.property(name).ok_or_else(|| format!("{name:?} was not asked for"))?;
        check(property, value).map_err(|fault| format!("{name:?} {fault}"))?;
    }
    Ok(answers)
}

fn default_of(property: &PrimitiveSchema) -> Option<ElicitValue> {
    match property {
        PrimitiveSchema::String(schema) => schema.default_value.clone().map(ElicitValue::String),
        PrimitiveSchema::Number(schema) => schema.default_value.clone().map(ElicitValue::Number),
        PrimitiveSchema::Boolean(schema) => schema.default_value.map(ElicitValue::Bool),
        PrimitiveSchema::Enum(schema) => schema.default_value.clone().map(ElicitValue::String),
        PrimitiveSchema::MultiSelect(schema) => schema.default_value.clone().map(ElicitValue::Strings),
        _ => None,
    }
}

fn check(property: &PrimitiveSchema, value: &ElicitValue) -> Result<(), String> {
    match (property, value) {
        (PrimitiveSchema::String(schema), ElicitValue::String(text)) => check_text(schema, text),
        (PrimitiveSchema::Number(schema), ElicitValue::Number(number)) => {
            let figure = number.as_f64().unwrap_or(f64::NAN);
            let bound = |bound: &Option<serde_json::Number>| bound.as_ref().and_then(|it| it.as_f64());
            if schema.integer && figure.fract() != 0.0 {
                return Err("must be a whole number".into());
            }
            if bound(&schema.minimum).is_some_and(|minimum| figure < minimum)
                || bound(&schema.maximum).is_some_and(|maximum| figure > maximum)
            {
                return Err("is out of range".into());
            }
            Ok(())
        }
        (PrimitiveSchema::Boolean(_), ElicitValue::Bool(_)) => Ok(()),
        (PrimitiveSchema::Enum(schema), ElicitValue::String(text)) => check_choice(&schema.options, text),
        (PrimitiveSchema::MultiSelect(schema), ElicitValue::Strings(chosen)) => {
            check_count(chosen.len(), schema.min_items, schema.max_items, "choices")?;
            chosen.iter().try_for_each(|text| check_choice(&schema.options, text))
        }
        _ => Err("has the wrong type".into()),
    }
}

fn check_choice(options: &[EnumOption], text: &str) -> Result<(), String> {
    let known = options.iter().any(|option| option.value == text);
    if known { Ok(()) } else { Err("is not one of the choices".into()) }
}

fn check_count(count: usize, min: Option<u64>, max: Option<u64>, of: &str) -> Result<(), String> {
    let count = count as u64;
    if min.is_some_and(|min| count < min) || max.is_some_and(|max| count > max) {
        return Err(format!("has the wrong number of {of}"));
    }
    Ok(())
}

fn check_text(schema: &StringSchema, text: &str) -> Result<(), String> {
    check_count(text.chars().count(), schema.min_length, schema.max_length, "characters")?;
    let (fits, what) = match schema.format {
        Some(StringFormat::Email) => (is_email(text), "an e-mail address"),
        Some(StringFormat::Uri) => (contexture_core::uri::check(text).is_ok(), "a URI"),
        Some(StringFormat::Date) => (is_date(text), "a date"),
        Some(StringFormat::DateTime) => (is_date_time(text), "a date and time"),
        None => (true, ""),
    };
    if fits { Ok(()) } else { Err(format!("is not {what}")) }
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let plain =
        |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control());
    plain(local) && plain(domain) && !domain.starts_with('.') && !domain.ends_with('.')
}

/// Digits in groups of these sizes, with these characters between.
fn digits(text: &str, sizes: &[usize], between: char) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(between).collect();
    let fits = parts.len() == sizes.len()
        && parts
            .iter()
            .zip(sizes)
            .all(|(part, size)| part.len() == *size && part.bytes().all(|byte| byte.is_ascii_digit()));
    if fits { parts.iter().map(|part| part.parse().ok()).collect() } else { None }
}

fn is_date(text: &str) -> bool {
    let Some(parts) = digits(text, &[4, 2, 2], '-') else { return false };
    let (year, month, day) = (parts[0], parts[1], parts[2]);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let (clock, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let clock_fits =
        digits(clock, &[2, 2, 2], ':').is_some_and(|parts| parts[0] < 24 && parts[1] < 60 && parts[2] <= 60);
    let zone_fits = matches!(zone, "Z" | "z")
        || digits(&zone[1..], &[2, 2], ':').is_some_and(|parts| parts[0] < 24 && parts[1] < 60);
    let fraction_fits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_date(date) && clock_fits && zone_fits && fraction_fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BooleanSchema, EnumSchema, MultiSelectSchema, NumberSchema};

    fn form() -> ElicitSchema {
        ElicitSchema::new()
            .required("name", StringSchema::new().min_length(2_u64).max_length(5_u64))
            .optional("age", NumberSchema::integer().minimum(0).maximum(150))
            .optional("sure", BooleanSchema::new().default_value(true))
            .optional("colour", EnumSchema::new(["red", "blue"]))
            .optional("several", MultiSelectSchema::new(["a", "b", "c"]).max_items(2_u64))
            .optional("mail", StringSchema::new().format(StringFormat::Email))
            .optional("day", StringSchema::new().format(StringFormat::Date))
            .optional("moment", StringSchema::new().format(StringFormat::DateTime))
    }

    fn with(name: &str, value: impl Into<ElicitValue>) -> Result<BTreeMap<String, ElicitValue>, String> {
        let mut answers = BTreeMap::from([("name".to_owned(), ElicitValue::from("Ada"))]);
        answers.insert(name.to_owned(), value.into());
        complete(&form(), answers)
    }

    // covers: ELIC-VALIDATE-CLIENT, SCHEMA-ELICIT
    #[test]
    fn answers_are_checked_and_defaults_filled_in() {
        let answers = with("colour", "red").expect("fits");
        assert_eq!(answers.get("sure"), Some(&ElicitValue::Bool(true)), "the default");
        assert!(with("name", "A").is_err() && with("name", "Adelaide").is_err());
        assert!(with("name", 1).is_err());
        assert!(with("age", 42).is_ok() && with("age", -1).is_err() && with("age", 151).is_err());
        assert!(with("colour", "green").is_err());
        assert!(with("several", ElicitValue::Strings(vec!["a".into(), "c".into()])).is_ok());
        assert!(with("several", ElicitValue::Strings(vec!["a".into(), "b".into(), "c".into()])).is_err());
        assert!(with("several", ElicitValue::Strings(vec!["z".into()])).is_err());
        assert!(with("unasked", "x").is_err());
        assert!(complete(&form(), BTreeMap::new()).is_err(), "a required answer is missing");
    }

    #[test]
    fn formats_are_checked() {
        assert!(with("mail", "ada@example.org").is_ok() && with("mail", "ada").is_err());
        assert!(with("day", "2024-02-29").is_ok() && with("day", "2023-02-29").is_err());
        assert!(with("moment", "2024-02-29T23:59:60.5+01:00").is_ok());
        assert!(with("moment", "2024-02-29 23:59").is_err());
    }
}
