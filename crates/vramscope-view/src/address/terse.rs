//! JSON values in characters that addresses may hold: `{"mode":"live","top":[1,true]}` is
//! `(mode:live,top:!(1,!t))`, as in Rison. Short and readable, and mail programs do not break it.

use serde_json::{Map, Number, Value};

/// Deeper nesting is refused; no view's choices are nested that deeply.
const DEPTH_LIMIT: usize = 16;

pub(super) fn to_text(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value);
    text
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("!n"),
        Value::Bool(true) => text.push_str("!t"),
        Value::Bool(false) => text.push_str("!f"),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => push_string(text, string),
        Value::Array(items) => {
            text.push_str("!(");
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place > 0 { "," } else { "" });
                push(text, item);
            }
            text.push(')');
        }
        Value::Object(pairs) => {
            text.push('(');
            for (place, (key, value)) in pairs.iter().enumerate() {
                text.push_str(if place > 0 { "," } else { "" });
                push_string(text, key);
                text.push(':');
                push(text, value);
            }
            text.push(')');
        }
    }
}

fn push_string(text: &mut String, string: &str) {
    let is_word = string.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && string.chars().all(is_of_word);
    if is_word {
        text.push_str(string);
        return;
    }
    text.push('\'');
    for c in string.chars() {
        if matches!(c, '!' | '\'') {
            text.push('!');
        }
        text.push(c);
    }
    text.push('\'');
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

/// Parses a value; `None` if the text is malformed.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut rest = text;
    let value = value(&mut rest, DEPTH_LIMIT)?;
    rest.is_empty().then_some(value)
}

fn value(rest: &mut &str, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match rest.chars().next()? {
        '(' => {
            *rest = &rest[1..];
            let pair = |rest: &mut &str| {
                let key = string(rest)?;
                *rest = rest.strip_prefix(':')?;
                Some((key, value(rest, depth)?))
            };
            let pairs: Map<String, Value> = list(rest, pair)?.into_iter().collect();
            Some(Value::Object(pairs))
        }
        '!' => bang(rest, depth),
        '-' | '0'..='9' => {
            let end = rest.find([',', ')', ':']).unwrap_or(rest.len());
            let number: Number = serde_json::from_str(&rest[..end]).ok()?;
            *rest = &rest[end..];
            Some(Value::Number(number))
        }
        _ => string(rest).map(Value::String),
    }
}

fn bang(rest: &mut &str, depth: usize) -> Option<Value> {
    let after = rest.get(2..).unwrap_or_default();
    let value = match rest.as_bytes().get(1)? {
        b'n' => Value::Null,
        b't' => Value::Bool(true),
        b'f' => Value::Bool(false),
        b'(' => {
            *rest = after;
            return list(rest, |rest| value(rest, depth)).map(Value::Array);
        }
        _ => return None,
    };
    *rest = after;
    Some(value)
}

fn list<T>(rest: &mut &str, mut item: impl FnMut(&mut &str) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    if let Some(after) = rest.strip_prefix(')') {
        *rest = after;
        return Some(items);
    }
    loop {
        items.push(item(rest)?);
        if let Some(after) = rest.strip_prefix(')') {
            *rest = after;
            return Some(items);
        }
        *rest = rest.strip_prefix(',')?;
    }
}

fn string(rest: &mut &str) -> Option<String> {
    let Some(quoted) = rest.strip_prefix('\'') else {
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        *rest = after;
        return (!word.is_empty()).then(|| word.to_owned());
    };
    let mut string = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => {
                *rest = &quoted[at + 1..];
                return Some(string);
            }
            '!' => string.push(chars.next()?.1),
            c => string.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_like_this() {
        for (json, text) in [
            (
                json!({"mode": "live_at", "top": [1, true, null]}),
                "(mode:live_at,top:!(1,!t,!n))",
            ),
            (json!("it's 50!"), "'it!'s 50!!'"),
            (json!(["", "5", -2.5, {}]), "!('','5',-2.5,())"),
            (json!({"a b": {"c": []}}), "('a b':(c:!()))"),
            (json!("torch/nn"), "torch/nn"),
        ] {
            assert_eq!(to_text(&json), text);
            assert_eq!(parse(text), Some(json));
        }
    }

    #[test]
    fn what_is_no_value_is_none() {
        let deep = "!(".repeat(10_000);
        for text in [
            "", "(", "(a)", "(a:1", "!", "!x", "'a", "1x", "a,b", "!(1,)", "é(", "!é", &deep,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            "[a-z!'(),:]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let pairs = proptest::collection::vec(("\\PC{0,4}", inner), 0..4);
            prop_oneof![
                list,
                pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value in values()) {
            prop_assert_eq!(parse(&to_text(&value)), Some(value));
        }

        #[test]
        fn no_text_panics(text in "[!'(),:a1é-]{0,20}") {
            let _ = parse(&text);
        }
    }
}
