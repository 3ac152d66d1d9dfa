"""Tables of short texts about three topics."""

from __future__ import annotations

TOPICS = {
    "food": ["bread and soup", "we need rice", "no meal since monday", "hungry children want apples", "cook the beans"],
    "fire": ["the house burns", "smoke over the forest", "call the firemen", "flames in the street", "hot ashes fall"],
    "rain": [
        "the river floods us",
        "a wet storm",
        "water in the cellar",
        "clouds and showers",
        "the dam is overflowing",
    ],
}


def write(path, single=True, repeat=4):
    lines = ["text,label" if single else "text,labels"]
    for round_ in range(repeat):
        for topic, sentences in TOPICS.items():
            lines += [f'"{sentence}, day {round_}",{topic}{"" if single else ";any"}' for sentence in sentences]
    path.write_text("\n".join(lines) + "\n")
    return path
