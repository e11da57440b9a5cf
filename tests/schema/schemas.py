# SPDX-License-Identifier: MIT
"""The schemas of docs/schema, ready to hold documents against.

The schemas themselves are held against JSON Schema 2020-12 (jsonschema); documents are held against the schemas as
fastjsonschema compiles them, which is fast enough for 10^5 plans. It knows draft 7, so that the schemas have only keywords
which mean the same in both."""
import json
import pathlib

import fastjsonschema
import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/schema"
KNOWN = {"$schema", "$comment", "$defs", "$ref", "title", "description", "type", "enum", "const", "required", "properties",
         "additionalProperties", "minProperties", "items", "minItems", "maxItems", "minLength", "minimum", "maximum", "if", "then",
         "else", "oneOf", "anyOf", "allOf"}


def keywords(schema):
    """The keywords of a schema and of those in it."""
    if not isinstance(schema, dict):
        return
    yield from schema
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            for inner in value.values():
                yield from keywords(inner)
        elif name in ("oneOf", "anyOf", "allOf"):
            for inner in value:
                yield from keywords(inner)
        elif name in ("items", "additionalProperties", "if", "then", "else"):
            yield from keywords(value)


def in_one(schema, shared):
    """A schema that holds what it refers to in common.json."""
    whole = json.loads(json.dumps(schema).replace('"common.json#/', '"#/'))
    return dict(whole, **{"$defs": {**shared, **whole.get("$defs", {})}})


class Schemas:
    """Schemas by name; each is compiled once."""

    def __init__(self):
        self.all = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
        for name, schema in self.all.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            if unknown := set(keywords(schema)) - KNOWN:
                raise ValueError(f"docs/schema/{name}.json has keywords that fastjsonschema may not know: {sorted(unknown)}")
        self.shared = in_one(self.all.pop("common"), {})["$defs"]
        self.compiled = {}

    def wrong_in(self, name, document):
        """What is wrong in a document by the schema of that name; None: it is valid."""
        if name not in self.compiled:
            self.compiled[name] = fastjsonschema.compile(in_one(self.all[name], self.shared), use_default=False)
        try:
            self.compiled[name](document)
        except fastjsonschema.JsonSchemaException as e:
            return f"{e.message} ({json.dumps(e.value)[:200]})"
        return None

    def wrong_in_answer(self, answer):
        """The name of an answer's schema, and what is wrong in it."""
        named = answer.get("schema", "").split("/") if isinstance(answer, dict) else []
        if len(named) != 3 or named[0] != "llmres" or named[1] not in self.all or named[1] == "job":
            return "none", "names no schema: " + json.dumps(answer)[:200]
        return named[1], self.wrong_in(named[1], answer)
