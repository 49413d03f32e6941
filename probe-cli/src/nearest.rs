//! The names that somebody who mistyped one may have meant.

/// How many are offered.
const OFFERED: usize = 3;

/// No name is longer; what was typed may be.
const LONGEST: usize = 64;

/// The nearest of `names`, nearest first: a few edits away, or holding what was typed.
#[must_use]
pub fn to<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let typed: String = typed.to_lowercase().replace('_', "-").chars().take(LONGEST).collect();
    if typed.is_empty() {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let plain = name.to_lowercase().replace('_', "-");
            let edits = strsim::osa_distance(&typed, &plain);
            let allowed = (plain.chars().count() / 3).max(2);
            let part = typed.chars().count() >= 3 && plain.contains(&typed);
            (edits <= allowed || part).then_some((edits, name))
        })
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(OFFERED).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["pool-mix", "irq-mix", "prng-noise", "route-flush", "page-copy"];

    #[test]
    fn slips_of_the_fingers_are_found() {
        assert_eq!(to("pool-mxi", NAMES), ["pool-mix"]);
        assert_eq!(to("pool_mix", NAMES), ["pool-mix"]);
        assert_eq!(to("POOLMIX", NAMES), ["pool-mix"]);
        assert_eq!(to("flush", NAMES), ["route-flush"]);
        assert_eq!(to("mix", NAMES), ["irq-mix", "pool-mix"]);
        assert_eq!(to("rout-flsh", NAMES), ["route-flush"]);
    }

    #[test]
    fn what_resembles_nothing_gets_nothing() {
        assert_eq!(to("", NAMES), [""; 0]);
        assert_eq!(to("zzz", NAMES), [""; 0]);
        assert_eq!(to(&"x".repeat(1 << 20), NAMES), [""; 0]);
    }
}
