//! What the checks say about wire JSON: expectations, and ways to the value meant.
//!
//! Knows no connection and no check.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::peer::Failure;

/// Fails unless it held.
pub fn expect(held: bool, what: &str, got: &Value) -> Result<(), Failure> {
    if held { Ok(()) } else { Err(Failure::Wrong(format!("expected {what}; got {got:.400}"))) }
}

/// Fails unless the value is the wanted one.
pub fn same(got: &Value, wanted: Value, what: &str) -> Result<(), Failure> {
    expect(*got == wanted, &format!("{what} {wanted}"), got)
}

/// Expects a JSON-RPC error with one of these codes.
pub fn refused(result: Result<Value, Failure>, codes: &[i32]) -> Result<String, Failure> {
    match result {
        Err(Failure::Refused(code, message)) if codes.contains(&code) => Ok(format!("{code} {message}")),
        Ok(got) => Err(Failure::Wrong(format!("expected an error of {codes:?}; got {got}"))),
        Err(other) => Err(other),
    }
}

/// The text of a result's only block.
pub fn said(result: &Value) -> Result<&Value, Failure> {
    let content = &result["content"];
    let single = content.as_array().is_some_and(|blocks| blocks.len() == 1 && blocks[0]["type"] == "text");
    expect(single, "one text block", content)?;
    Ok(&content[0]["text"])
}

/// The member of a list with this key.
pub fn find<'a>(list: &'a Value, key: &str, value: &str) -> Result<&'a Value, Failure> {
    let found = list.as_array().into_iter().flatten().find(|item| item[key] == value);
    found.ok_or_else(|| Failure::Wrong(format!("expected {value}; got {list:.400}")))
}

/// One field of every member of a list.
pub fn pluck(list: &Value, key: &str) -> Vec<Value> {
    list.as_array().into_iter().flatten().map(|item| item[key].clone()).collect()
}

/// What has come in, after waiting at most two seconds for `count` of it.
pub async fn arrived(inbox: &Mutex<Vec<Value>>, count: usize) -> Vec<Value> {
    for _ in 0..200 {
        if inbox.lock().await.len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    inbox.lock().await.clone()
}
