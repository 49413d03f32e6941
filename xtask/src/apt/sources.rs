//! Which mirror this machine takes Debian from, by its own apt files.

use std::{fs, io, path::Path};

/// One archive of an apt file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: Option<String>,
    trusted: bool,
}

/// Where packages come from, and how they are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    pub(crate) uri: String,
    pub(crate) signed_by: Option<String>,
    pub(crate) trusted: bool,
}

/// Everything under an apt folder (`/etc/apt`), in apt's order: the list itself, then the parts by name.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut paths = vec![folder.join("sources.list")];
    if let Ok(parts) = fs::read_dir(folder.join("sources.list.d")) {
        let mut parts = parts.map(|part| part.map(|part| part.path())).collect::<io::Result<Vec<_>>>()?;
        parts.sort();
        paths.extend(parts);
    }
    let mut entries = Vec::new();
    for path in paths {
        let parse = match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => one_line,
            Some("sources") => deb822,
            _ => continue,
        };
        match fs::read_to_string(&path) {
            Ok(text) => entries.extend(parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// `deb [signed-by=KEY] URI SUITE COMPONENT...`
fn one_line(text: &str) -> Vec<Entry> {
    text.lines().filter_map(one_line_entry).collect()
}

fn one_line_entry(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    let mut rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let mut entry = Entry::default();
    if let Some(bracketed) = rest.strip_prefix('[') {
        let (options, after) = bracketed.split_once(']')?;
        for option in options.split_whitespace() {
            match option.split_once('=') {
                Some(("signed-by", key)) => entry.signed_by = Some(key.to_owned()),
                Some(("trusted", value)) => entry.trusted = is_yes(value),
                _ => {}
            }
        }
        rest = after;
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    entry.uris.push(words.next()?);
    entry.suites.push(words.next()?);
    entry.components.extend(words);
    Some(entry)
}

/// Stanzas of `Field: value`, where a line that begins with a blank continues the field above.
fn deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).chain([""]) {
        if line.trim().is_empty() {
            entries.extend(deb822_entry(&fields));
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    entries
}

fn deb822_entry(fields: &[(String, String)]) -> Option<Entry> {
    let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    let words =
        |name| field(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let enabled = field("enabled").is_none_or(is_yes);
    let entry = Entry {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        // A key may stand in the file itself; a list of our own can name only a key that has a file.
        signed_by: field("signed-by").filter(|key| key.starts_with('/')).map(str::to_owned),
        trusted: field("trusted").is_some_and(is_yes),
    };
    (enabled && words("types").contains(&"deb".to_owned()) && !entry.uris.is_empty()).then_some(entry)
}

fn is_yes(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "yes" | "true" | "1" | "on")
}

/// The mirror of Debian's main archive.
///
/// Other archives may use the release's name as well, so one whose path says `debian` goes before one that does not.
pub(crate) fn main_archive(entries: &[Entry], codename: Option<&str>) -> Option<Mirror> {
    let release = |suite: &str| {
        Some(suite) == codename || matches!(suite, "stable" | "oldstable" | "testing" | "unstable" | "sid")
    };
    let found = mirrors(entries, |entry| {
        entry.components.iter().any(|component| component == "main")
            && entry.suites.iter().any(|suite| release(suite))
    });
    let named = |mirror: &&Mirror| mirror.uri.trim_end_matches('/').contains("debian");
    found.iter().find(named).or(found.first()).cloned()
}

/// The mirror of Debian's security archive: the machine's own, or the one beside its main archive.
pub(crate) fn security_archive(entries: &[Entry], codename: Option<&str>) -> Option<Mirror> {
    let own = mirrors(entries, |entry| {
        let security = |suite: &String| suite.ends_with("-security") || suite.ends_with("/updates");
        entry.components.iter().any(|component| component == "main") && entry.suites.iter().any(security)
    });
    own.into_iter().next().or_else(|| {
        let mut mirror = main_archive(entries, codename)?;
        let beside = mirror.uri.trim_end_matches('/').strip_suffix("/debian")?.to_owned();
        mirror.uri = beside + "/debian-security";
        Some(mirror)
    })
}

fn mirrors(entries: &[Entry], wanted: impl Fn(&Entry) -> bool) -> Vec<Mirror> {
    let reachable = |uri: &&String| !uri.starts_with("cdrom:");
    entries
        .iter()
        .filter(|entry| wanted(entry))
        .flat_map(|entry| {
            entry.uris.iter().filter(reachable).map(|uri| Mirror {
                uri: uri.clone(),
                signed_by: entry.signed_by.clone(),
                trusted: entry.trusted,
            })
        })
        .collect()
}

/// The value of a field of `/etc/os-release`.
pub(crate) fn os_release<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix('='))
        .map(|value| value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(mirror: Option<Mirror>) -> Option<String> {
        mirror.map(|mirror| mirror.uri)
    }

    #[test]
    fn the_list_of_lines_is_read() {
        let entries = one_line(
            "# a comment\n\
             deb-src http://m.example/debian bookworm main\n\
             deb http://m.example/debian/ bookworm main contrib # trailing\n\
             deb [ arch=amd64 signed-by=/keys/a.gpg trusted=yes ] https://s.example/debian-security bookworm-security main\n\
             debug nonsense\n\
             deb\n",
        );
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].components, ["main", "contrib"]);
        assert_eq!(entries[1].signed_by.as_deref(), Some("/keys/a.gpg"));
        assert!(entries[1].trusted && !entries[0].trusted);
        assert_eq!(uri(main_archive(&entries, Some("bookworm"))).unwrap(), "http://m.example/debian/");
        assert_eq!(
            uri(security_archive(&entries, Some("bookworm"))).unwrap(),
            "https://s.example/debian-security"
        );
    }

    #[test]
    fn stanzas_are_read() {
        let entries = deb822(
            "Types: deb deb-src\n# between\nURIs: http://m.example/debian\nSuites: trixie\n trixie-updates\n\
             components: main\nSigned-By: /keys/debian.gpg\n\n\n\
             Types: deb\nURIs: http://off.example/debian\nSuites: trixie\nComponents: main\nEnabled: no\n\n\
             Types: deb-src\nURIs: http://src.example/debian\nSuites: trixie\nComponents: main\n\n\
             Types: deb\nURIs: http://s.example/debian-security\nSuites: trixie-security\nComponents: main\n\
             Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n -----END PGP PUBLIC KEY BLOCK-----",
        );
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].suites, ["trixie", "trixie-updates"]);
        assert_eq!(entries[0].signed_by.as_deref(), Some("/keys/debian.gpg"));
        assert_eq!(entries[1].signed_by, None, "a key inside the file cannot be named from another one");
        assert_eq!(uri(main_archive(&entries, Some("trixie"))).unwrap(), "http://m.example/debian");
    }

    #[test]
    fn archives_of_others_are_passed_over() {
        let entries = one_line(
            "deb cdrom:[Debian GNU/Linux 12]/ bookworm main\n\
             deb https://d.example/linux bookworm stable\n\
             deb https://p.example/tools bookworm main\n\
             deb mirror+file:/etc/apt/mirrors/debian.list bookworm main\n",
        );
        assert_eq!(
            uri(main_archive(&entries, Some("bookworm"))).unwrap(),
            "mirror+file:/etc/apt/mirrors/debian.list"
        );
        assert_eq!(main_archive(&entries[1..2], Some("bookworm")), None);
        assert_eq!(main_archive(&[], None), None);
    }

    #[test]
    fn without_a_security_archive_the_one_beside_the_main_archive_is_taken() {
        let entries = one_line("deb http://m.example/debian/ bookworm main\n");
        assert_eq!(
            uri(security_archive(&entries, Some("bookworm"))).unwrap(),
            "http://m.example/debian-security"
        );
        let odd = one_line("deb http://m.example/mirror bookworm main\n");
        assert_eq!(security_archive(&odd, Some("bookworm")), None);
    }

    #[test]
    fn all_files_of_the_folder_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).unwrap();
        fs::write(
            parts.join("b.sources"),
            "Types: deb\nURIs: http://b.example/debian\nSuites: sid\nComponents: main\n",
        )
        .unwrap();
        fs::write(parts.join("a.list"), "deb http://a.example/debian sid main\n").unwrap();
        fs::write(parts.join("c.list.save"), "deb http://c.example/debian sid main\n").unwrap();
        let entries = read(folder.path()).unwrap();
        let uris: Vec<_> = entries.iter().flat_map(|entry| &entry.uris).collect();
        assert_eq!(uris, ["http://a.example/debian", "http://b.example/debian"]);
    }

    #[test]
    fn os_release_is_read_with_and_without_quotes() {
        let text = "ID=debian\nVERSION_CODENAME=\"bookworm\"\nVERSION_ID='12'\n";
        assert_eq!(os_release(text, "ID"), Some("debian"));
        assert_eq!(os_release(text, "VERSION_CODENAME"), Some("bookworm"));
        assert_eq!(os_release(text, "VERSION_ID"), Some("12"));
        assert_eq!(os_release(text, "VERSION"), None);
    }
}
