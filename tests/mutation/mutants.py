"""Finds what could be wrong in a C file, one small change at a time.

A mutant is the file with one operator, constant, result or condition changed, or one statement gone. The sources are
read as tokens, which is enough for code that clang-format has laid out: a binary operator has a space behind it.
"""
import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<space>(?:\s|\\\n)+|//[^\n]*|/\*.*?\*/)
  | (?P<define>\#\s*define\s+\w+(?:\([^)]*\))?)
  | (?P<directive>\#[^\n]*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)

OTHER = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "&": ["|"], "|": ["&"],
    "^": ["|"], "<<": [">>"], ">>": ["<<"], "++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="], "*=": ["/="],
    "/=": ["*="], "%=": ["*="], "&=": ["|="], "|=": ["&="], "^=": ["|="], "<<=": [">>="], ">>=": ["<<="],
    "true": ["false"], "false": ["true"],
}  # fmt: skip
UNARY_TOO = {"+", "-", "*", "&"}
CONTROL = {"if", "for", "while", "switch"}
NO_STATEMENT = CONTROL | {"do", "else", "case", "default", "return", "assert", "static_assert", "{", "}", ";"}
TYPES = {"const", "struct", "enum", "union", "static", "unsigned", "int", "bool", "char", "void", "long", "double"}
JUMPS = {"break", "continue", "goto"}
FILE_LEVEL = "(file)"


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    function: str = FILE_LEVEL
    returns: str = ""
    asserted: bool = False


@dataclasses.dataclass
class Mutant:
    file: str
    function: str
    start: int
    end: int
    by: str
    change: str = ""  # what a person reads, and how the mutant is called in the list of equivalent ones

    @property
    def key(self):
        return f"{self.file}:{self.function}: {self.change}"


def tokens_of(text):
    found = []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind not in ("space", "define", "directive"):
            found.append(Token(kind, match.group(), match.start(), match.end()))
    mark_functions(found)
    mark_asserts(found)
    return found


def closing(tokens, index, left="(", right=")"):
    """The index of what closes the bracket at `index`."""
    depth = 0
    for i in range(index, len(tokens)):
        depth += (tokens[i].text == left) - (tokens[i].text == right)
        if depth == 0:
            return i
    return len(tokens) - 1


def mark_functions(tokens):
    i, begin, opening = 0, 0, None
    while i < len(tokens):
        token = tokens[i]
        if token.text == "(" and opening is None:
            opening = i
        if token.text == "{":
            end = closing(tokens, i, "{", "}")
            if tokens[i - 1].text == ")" and opening:
                for inside in tokens[i : end + 1]:
                    inside.function = tokens[opening - 1].text
                    inside.returns = " ".join(t.text for t in tokens[begin : opening - 1])
            i = end
        if tokens[i].text in ("}", ";"):
            begin, opening = i + 1, None
        i += 1


def mark_asserts(tokens):
    for i, token in enumerate(tokens):
        if token.text in ("assert", "static_assert"):
            for inside in tokens[i : closing(tokens, i + 1) + 1]:
                inside.asserted = True


def families(texts):
    """For each enumerator the next one of its enum: what could be written in its place."""
    after = {}
    for text in texts:
        for body in re.findall(r"\benum\s+\w+\s*\{(.*?)\}", re.sub(r"/\*.*?\*/", "", text, flags=re.S), re.S):
            members = [m for m in re.findall(r"\b[A-Z][A-Z0-9_]+\b", body) if not m.endswith(("_COUNT", "_MAX"))]
            if "#define" in body:
                members = listed(text, body)
            for i, member in enumerate(members):
                if len(members) > 1:
                    after[member] = members[(i + 1) % len(members)]
    return after


def listed(text, body):
    """The members of an enum that a list macro makes: `#define M(name, …) PREFIX##name` and `LIST(M)`."""
    prefix = re.search(r"(\w+)##", body)
    use = re.search(r"\b(\w+_LIST)\(", body)
    macro = use and re.search(rf"#define {use.group(1)}\(\w+\)(.*?[^\\])\n", text, re.S)
    return [prefix.group(1) + name for name in re.findall(r"\bX?\((\w+),", macro.group(1))] if macro and prefix else []


def numbers(text):
    digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", text).group()
    value, suffix = int(digits, 0), text[len(digits) :]
    for other in dict.fromkeys((value + 1, value - 1, 0)):
        if other != value:
            yield f"{other}{suffix}" if other >= 0 else f"({other}{suffix})"


def is_idiom(tokens, i):
    """`{0}` says "nothing set", not a number."""
    return [t.text for t in tokens[i - 1 : i + 2]] == ["{", "0", "}"]


def replacements(tokens, i, text, after):
    token, before = tokens[i], tokens[i - 1] if i else tokens[i]
    if token.kind == "number":
        return [] if is_idiom(tokens, i) else numbers(token.text)
    if token.text in after:
        label = before.text == "case" or (before.text == "[" and tokens[i + 1].text == "]")
        return [] if label else [after[token.text]]
    if token.text == "!":
        return [""]
    if token.text in UNARY_TOO and not text[token.end].isspace():
        return []
    return OTHER.get(token.text, [])


def statements(tokens):
    """The expression statements and jumps, as pairs of indexes."""
    begins = False
    skip_to = -1
    for i, token in enumerate(tokens):
        if token.function == FILE_LEVEL:
            begins = False
            continue
        if i == skip_to:
            begins = True
            continue
        if begins and token.text not in NO_STATEMENT | TYPES and not is_declaration(tokens, i):
            end = i
            while tokens[end].text != ";":
                end = closing(tokens, end) + 1 if tokens[end].text == "(" else end + 1
            yield i, end
        if token.text in CONTROL:
            skip_to = closing(tokens, i + 1)
        block = token.text == "{" and (begins or tokens[i - 1].function == FILE_LEVEL)
        begins = i >= skip_to and (block or token.text in ("}", ";", "else", "do") or is_label(tokens, i))


def is_label(tokens, i):
    return tokens[i].text == ":" and any(t.text in ("case", "default") for t in tokens[max(0, i - 2) : i])


def is_declaration(tokens, i):
    first, second, third = tokens[i], tokens[i + 1], tokens[i + 2]
    if first.text in JUMPS or first.kind != "name":
        return False
    return second.kind == "name" or (second.text == "*" and third.kind == "name")


def is_simple(condition):
    """One comparison or `!`: it is turned round by its operator already."""
    return not re.search(r"&&|\|\||\?", condition) and bool(re.search(r"[<>=!]=|[^->]>|<|^!", condition))


def raw_mutants(file, text, after):
    tokens = tokens_of(text)
    for i, token in enumerate(tokens):
        if token.asserted:
            continue
        for by in replacements(tokens, i, text, after):
            yield Mutant(file, token.function, token.start, token.end, by)
        if token.text == "if":
            first, last = tokens[i + 1], tokens[closing(tokens, i + 1)]
            inside = text[first.end : last.start]
            if not is_simple(inside):
                yield Mutant(file, token.function, first.end, last.start, f"!({inside})")
        if token.text == "return" and re.search(r"\bbool$", token.returns):
            end = next(t for t in tokens[i:] if t.text == ";")
            value = text[token.end : end.start].strip()
            if value not in ("true", "false") and not is_simple(value):
                yield Mutant(file, token.function, token.end, end.start, f" !({value})")
    for i, end in statements(tokens):
        # The lines stay, so that the rest of the file is where it was.
        gone = "\n" * text.count("\n", tokens[i].start, tokens[end].start)
        yield Mutant(file, tokens[i].function, tokens[i].start, tokens[end].start, gone)


def mutate(text, mutant):
    return text[: mutant.start] + mutant.by + text[mutant.end :]


def describe(text, mutant):
    begin = text.rfind("\n", 0, mutant.start) + 1
    end = text.find("\n", mutant.end)
    old = " ".join(text[begin:end].split())
    new = " ".join((text[begin : mutant.start] + mutant.by + text[mutant.end : end]).split())
    return f"{old} => {new}"


def find(file, text, after):
    """Every mutant of a file, each with a name of its own that lasts while its function does not change there."""
    seen = {}
    mutants = sorted(raw_mutants(file, text, after), key=lambda m: (m.start, m.end, m.by))
    for mutant in mutants:
        mutant.change = describe(text, mutant)
        seen[mutant.key] = seen.get(mutant.key, 0) + 1
        if seen[mutant.key] > 1:
            mutant.change += f" #{seen[mutant.key]}"
    return mutants
