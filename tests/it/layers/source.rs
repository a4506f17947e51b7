//! Rust source as words: names and punctuation, without comments, text, attributes of visibility, and tests.

/// The words of `text`.
pub(super) fn words(text: &str) -> Vec<String> {
    without_tests(&lexed(text))
}

/// Names, `::`, and every other character that is no space, as far as it matters here.
fn lexed(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => string_length(rest),
            'b' | 'r' if raw_string_length(rest) > 0 => raw_string_length(rest),
            '\'' => char_length(rest),
            ':' if rest.starts_with("::") => 2,
            _ if is_part_of_name(first) => rest
                .find(|character| !is_part_of_name(character))
                .unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        if is_part_of_name(first) && !word.ends_with(['"', '#']) || ":{}();,*#[]<".contains(first) {
            words.push(word.to_owned());
        }
        rest = behind;
    }
    words
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|character| {
        let ends = character == '"' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The length of the raw string at the start of `text`; 0 if there is none.
fn raw_string_length(text: &str) -> usize {
    let content = text.trim_start_matches('b').trim_start_matches('r');
    let hashes = content.trim_start_matches('#');
    let end = format!("\"{}", &content[..content.len() - hashes.len()]);
    let is_raw = text.starts_with('r') || text.starts_with("br");
    match hashes
        .strip_prefix('"')
        .and_then(|content| content.find(&end))
    {
        Some(length) if is_raw => text.len() - hashes.len() + 1 + length + end.len(),
        _ => 0,
    }
}

/// The length of a character in quotes, or of the quote that begins a lifetime.
fn char_length(text: &str) -> usize {
    let content = &text[1..];
    match content.chars().next() {
        Some('\\') => 4 + content[2..].find('\'').unwrap_or(0),
        Some(character) if content[character.len_utf8()..].starts_with('\'') => {
            2 + character.len_utf8()
        }
        _ => 1,
    }
}

/// `words` without the items under `#[cfg(test)]`, and without `(in …)` behind `pub`.
fn without_tests(words: &[String]) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at..].iter().take(TEST.len()).eq(TEST) {
            at += TEST.len();
            at += item_length(&words[at..]);
        } else if words[at..].iter().take(3).eq(["pub", "(", "in"]) {
            at += words[at..].iter().take_while(|word| *word != ")").count() + 1;
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

/// The words up to the end of the item at the start of `words`: a semicolon, or the brace that closes it.
fn item_length(words: &[String]) -> usize {
    let mut depth = 0;
    let end = words.iter().position(|word| {
        match &word[..] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        depth == 0 && (word == "}" || word == ";")
    });
    end.map_or(words.len(), |end| end + 1)
}
