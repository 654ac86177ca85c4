//! Doing a step, and what came of it.

use contexture::{Client, Error};
use serde_json::{Value, json};

use super::file::Step;

/// What came of a step.
#[derive(Debug)]
pub(super) enum Answer {
    /// The result, as it is in the protocol.
    Result(Value),
    /// The server answered with an error.
    Refused { code: i64, message: String },
    /// There was no answer.
    None(String),
}

impl Answer {
    /// What pointers point into.
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Result(result) => result,
            _ => &Value::Null,
        }
    }
}

pub(super) async fn perform(client: &Client, step: &Step) -> Answer {
    let answer = match step.verb {
        "call" => client.call(&step.what, &step.with).await.map(|reply| json!(*reply)),
        "read" => client.read(&step.what).await.map(|result| json!(result)),
        "prompt" => client.prompt(&step.what, &step.with).await.map(|result| json!(result)),
        "list" => list(client, &step.what).await,
        _ => client.request(&step.what, &step.with).await,
    };
    match answer {
        Ok(result) => Answer::Result(result),
        Err(Error::Remote(error)) => Answer::Refused { code: error.code, message: error.message },
        Err(error) => Answer::None(error.to_string()),
    }
}

async fn list(client: &Client, what: &str) -> Result<Value, Error> {
    Ok(match what {
        "tools" => json!({ "tools": client.tools().await.map_err(Error::from)? }),
        "prompts" => json!({ "prompts": client.prompts().await.map_err(Error::from)? }),
        "resources" => json!({ "resources": client.resources().await.map_err(Error::from)? }),
        "templates" => {
            json!({ "resourceTemplates": client.resource_templates().await.map_err(Error::from)? })
        }
        _ => {
            let what = format!("there is no list of {what:?}: tools, prompts, resources or templates");
            return Err(Error::Misuse(what));
        }
    })
}
