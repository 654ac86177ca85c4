//! A host that does nothing behind a person's back: every tool call, every read, every question of the server is
//! shown on the terminal first, and only `y` means yes.
//!
//! `cargo run --example host -- greet '{"greeting":"Hello"}' target/debug/examples/hello`

#![expect(clippy::print_stdout, reason = "the terminal is where people are asked")]

use std::io::{self, BufRead, Write};

use contexture::Client;
use contexture::client::{
    Approval, ElicitAnswer, Elicitation, Question, ResourceRead, Roots, Sampling, SamplingApproval,
    SamplingQuestion, ToolCall,
};
use contexture::model::CreateMessageResult;
use serde_json::Value;

/// Shows something, and reads a line. People take their time, so others must not wait for them.
async fn ask(question: String) -> String {
    let answer = tokio::task::spawn_blocking(move || {
        print!("{question} ");
        let mut line = String::new();
        // Who cannot be asked has not agreed.
        let _ = io::stdout().flush().and_then(|()| io::stdin().lock().read_line(&mut line));
        println!();
        line.trim().to_owned()
    });
    answer.await.unwrap_or_default()
}

async fn agrees(question: String) -> bool {
    ask(format!("{question} [y/N]")).await == "y"
}

async fn verdict(question: String) -> Approval {
    if agrees(question).await { Approval::Allow } else { Approval::Deny }
}

async fn approve_tool(call: ToolCall) -> Approval {
    let listed = call.listed.as_deref();
    let says = listed.and_then(|tool| tool.description.as_deref()).unwrap_or("nothing about it");
    let arguments = call.arguments.as_ref().map_or("{}", |raw| raw.get());
    let (server, tool) = (call.server.display_name(), &call.tool);
    verdict(format!("{server} says about {tool}: {says}\nCall it with {arguments}?")).await
}

async fn approve_read(read: ResourceRead) -> Approval {
    verdict(format!("Read {} of {}?", read.uri, read.server.display_name())).await
}

async fn approve_sampling(question: SamplingQuestion) -> SamplingApproval {
    let server = question.server.display_name();
    let asked = format!("{server} wants to ask the model: {:?}\nMay it?", question.params.messages);
    if agrees(asked).await { SamplingApproval::Allow } else { SamplingApproval::Deny("not now".into()) }
}

/// Forms are filled in field by field; URLs are for another example.
async fn fill_in(question: Question) -> ElicitAnswer {
    let Question::Form { server, message, schema } = question else { return ElicitAnswer::Decline };
    if !agrees(format!("{} asks: {message}\nAnswer?", server.display_name())).await {
        return ElicitAnswer::Decline;
    }
    let mut answers = Vec::new();
    for (name, _) in &schema.properties {
        answers.push((name.clone(), ask(format!("{name}:")).await));
    }
    ElicitAnswer::accept(answers.iter().map(|(name, answer)| (name.as_str(), answer.as_str())))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(tool), Some(arguments), Some(program)) = (words.next(), words.next(), words.next()) else {
        return Err("usage: host TOOL ARGUMENTS PROGRAM".into());
    };
    let arguments: Value = serde_json::from_str(&arguments)?;
    // A real host has a model here.
    let model = async |_| Err::<CreateMessageResult, _>("there is no model");
    let roots = Roots::new().consent(|server| agrees(format!("Show {} the roots?", server.display_name())));
    let client = Client::builder()
        .approve_tools(approve_tool)
        .approve_reads(approve_read)
        .sampling(Sampling::new(model).approve(approve_sampling))
        .elicitation(Elicitation::new(fill_in))
        .roots(roots)
        .spawn(program)
        .await?;
    // What people are to understand has to be listed first.
    client.tools().await?;
    match client.call(tool, arguments).await {
        Ok(reply) => println!("{}", reply.text()),
        Err(error) => println!("{error}"),
    }
    client.close().await;
    Ok(())
}
