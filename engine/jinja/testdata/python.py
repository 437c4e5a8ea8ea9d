"""Makes or checks python.json and flash.json: templates rendered by Jinja2 itself, set up as the reference library sets it up for chat
templates (trim_blocks, lstrip_blocks, loop controls, immutable sandbox, its own tojson and raise_exception).

    python3 engine/jinja/testdata/python.py [--write]     needs the jinja2 package
"""
import datetime, json, os, sys
import jinja2, jinja2.ext, jinja2.sandbox

VARS = {
    "s": "Hello World", "u": "naïve 日本 🙂", "n": 7, "f": 1.5, "t": True, "z": None, "e": "",
    "l": [3, 1, 2], "w": ["b", "a", "C"], "d": {"b": 1, "a": [1, {"x": None}], "items": 5},
    "m": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "tool_calls": []}, {"role": "user", "content": "bye"}],
    "q": "it's \"quoted\"\n\ttab \\ \x01 é", "big": 123456789012345678901234567890, "neg": -7, "nested": {"a": {"b": [10, 20]}},
    "fl": [0.1, 1e16, 1e-5, 100.0, -0.0, 1e22, 123456.789, 1e15],
}

EXPRESSIONS = """
s|upper ; s|lower ; s|title ; s|capitalize ; s|length ; u|length ; u[0] ; u[2] ; u[-1] ; u[::-1] ; u[6:8] ; s[1:] ; s[:-1] ; s[::2] ; s[::-2] ; s[10:2:-3] ; s[-3:] ; s[99] ; s[99:]
l[0] ; l[-1] ; l[1:] ; l[::-1] ; l[5] ; l[-5:2] ; l[2:0:-1] ; l[:2] ; (1,2,3)[1:] ; m[::-1]|map(attribute='content')|join(',') ; m[-1].role ; m[0]['content'] ; nested.a.b.1 ; nested['a']['b'][-1]
1 + 2 ; 1 + 2.0 ; 7 / 2 ; 8 / 2 ; 7 // 2 ; neg // 2 ; neg % 3 ; 7 % -3 ; 7.5 // 2 ; -7.5 % 2 ; 2 ** 10 ; 2 ** -1 ; 2 ** 0.5 ; -2 ** 2 ; 10 - 3 - 2 ; 2 * 3 + 4 * 5 ; (2 + 3) * 4 ; -n ; +n ; - n + 1 ; 0.1 + 0.2 ; 1e3 ; 1_000 ; 0x1F ; 0b11 ; 0o17 ; 3 * 'ab' ; 'ab' * 0 ; [1] * 3 ; [1] + [2] ; (1,) + (2,) ; true + true ; 'a' 'b' ; 1 ~ 2 ~ none ; 'a' ~ 1.0 ; 100000000000000000 * 10
1 < 2 ; 1 < 2 < 3 ; 1 < 3 < 2 ; (1 < 2) == true ; 1 == 1.0 ; 1 == true ; '1' == 1 ; 'a' < 'b' ; 'a' < 'B' ; [1,2] < [1,3] ; [1,2] == [1,2] ; [1] == (1,) ; {'a':1} == {'a':1.0} ; none == false ; z is none ; 2 > 1 == true ; not 1 == 2 ; not true and false ; not (true and false)
1 in [1,2] ; 'ell' in s ; 'x' not in s ; 'b' in d ; 'zz' in d ; 3 not in l ; not 3 in l ; none in [none] ; 1 in missing ; '' in '' ; 'a' in ['abc'] ; (1,2) in [(1,2)]
true and 0 ; '' or 'x' ; 0 or none ; 1 and 2 ; none or [] ; not none ; not '' ; 'yes' if t else 'no' ; 'yes' if z else 'no' ; 'yes' if z ; ('a' if false) is defined ; 1 if true else 2 if false else 3
t ; false ; none ; True ; None ; f ; n ; big ; l ; d ; (1,) ; (1, 'a', none) ; {} ; [] ; () ; {'a': 'it\\'s', "b": "\\n"} ; fl ; q ; [q] ; ['\\'"'] ; missing ; [missing] ; 1.0 ; 1e100 ; 1.5e-7 ; [true, none] ; {1: 2, none: 3, true: 4} ; {'a':1, 'a':2}
d|tojson ; q|tojson ; u|tojson ; fl|tojson ; l|tojson ; big|tojson ; z|tojson ; t|tojson ; (1,2)|tojson ; {}|tojson ; []|tojson ; {1:'a', none:'b', true:'c', 1.5:'d'}|tojson ; d|tojson(indent=2) ; [[], {}, [1]]|tojson(indent=4) ; u|tojson(ensure_ascii=true) ; d|tojson(separators=(',', ':')) ; {'b':1,'a':2}|tojson(sort_keys=true) ; '<>&\\''|tojson ; '\\u2028\\x7f'|tojson ; missing|tojson ; d|tojson|length ; 'x'|tojson|safe
'  a b '|trim ; 'xxaxx'|trim('x') ; '\\n\\n a \\t'|trim ; none|trim ; 5|trim ; 'a-b'|replace('-', '+') ; 'aaa'|replace('a','b',2) ; 'abc'|replace('', '-') ; 1.0|string ; none|string ; [1]|string|length ; 'a\\nb\\n\\nc'|indent ; 'a\\nb'|indent(2, true) ; 'a\\n\\nb'|indent(2, blank=true) ; 'a b c'|wordcount ; 'the quick brown fox jumps'|truncate(12) ; 'the quick brown fox'|truncate(10, true, '..', 0) ; '%s-%d'|format('a', 3) ; 'x'|e ; '<a href="x">&\\'</a>'|e ; 'hello world-foo (bar)'|title ; 'ab'|center(6) ; 'x'|urlencode
missing|default('x') ; ''|default('x') ; ''|default('x', true) ; none|default('x') ; z|d('y', boolean=true) ; missing.foo|default('x') ; d.nope|default('x') ; 0|default(1) ; -3|abs ; -3.5|abs ; '42'|int ; '4.9'|int ; 'x'|int ; 'x'|int(5) ; '0x1f'|int(0,16) ; '1f'|int(0,16) ; '0x1f'|int(7) ; '0b11'|int(0,2) ; ' 12 '|int ; 3.9|int ; none|int ; '1.5'|float ; 'x'|float ; 'x'|float(2.0) ; 3|float ; 2.5|round ; 3.5|round ; 2.567|round(2) ; 2.1|round(method='ceil') ; 2.9|round(0,'floor') ; 1234|round(-2) ; 1250|round(-2) ; 1350|round(-2) ; -1250|round(-2) ; 1234|round(-9) ; 1234.5|round(-2) ; 42|round
l|first ; l|last ; []|first ; s|first ; s|last ; l|list ; 'abc'|list ; d|list ; d|items|list ; {}|items|list ; missing|items|list ; missing|list ; none|items|list ; l|sort ; w|sort ; w|sort(case_sensitive=true) ; l|sort(reverse=true) ; m|sort(attribute='role')|map(attribute='content')|list ; l|reverse|list ; 'abc'|reverse ; l|join ; l|join('-') ; m|join(', ', attribute='role') ; [1,[2]]|join('|') ; l|sum ; [[1],[2]]|sum(start=[]) ; m|map(attribute='nope', default='?')|list ; l|max ; l|min ; w|max ; w|min ; []|max ; [1,2,1]|unique|list ; ['a','A']|unique|list ; {'b':1,'a':2}|dictsort ; {'b':1,'a':2}|dictsort(by='value') ; {'b':1,'a':2}|dictsort(reverse=true) ; range(5)|batch(2)|list ; range(5)|batch(2,'x')|list ; range(5)|slice(2)|list ; range(5)|slice(3,'-')|list
m|selectattr('role','equalto','user')|list|length ; m|selectattr('tool_calls')|list ; m|selectattr('tool_calls','defined')|list|length ; m|rejectattr('role','eq','user')|map(attribute='role')|list ; [0,1,none,'a']|select|list ; [1,2,3,4]|select('even')|list ; [1,2,3]|reject('odd')|list ; [1,2,3]|select('gt',1)|list ; ['a','b']|map('upper')|join ; ['a ',' b']|map('trim')|list ; [1,2]|map('string')|join('+') ; ['x']|map('replace','x','y')|first ; [1]|select is defined ; ([]|select) and 'truthy' ; m|map(attribute='role')|unique|list ; nested|attr('a') ; [{'a':{'b':3}}]|map(attribute='a.b')|list ; [[1,2]]|map(attribute=1)|list ; [[7]]|map('first')|list
s is string ; n is string ; d is mapping ; l is mapping ; l is sequence ; s is sequence ; d is sequence ; n is sequence ; z is sequence ; missing is sequence ; l is iterable ; s is iterable ; d is iterable ; n is iterable ; z is iterable ; missing is iterable ; s is defined ; missing is defined ; missing is undefined ; d.x is defined ; d.b is defined ; missing is not defined ; n is number ; f is number ; t is number ; t is integer ; n is integer ; f is integer ; f is float ; t is boolean ; n is boolean ; t is true ; n is true ; false is false ; z is none ; z is not none ; z is false ; 3 is odd ; 4 is even ; 6 is divisibleby(3) ; 6 is divisibleby 4 ; 1 is eq 1 ; 1 is ne(2) ; 1 is lt 2 ; 2 is ge 3 ; 'a' is in ['a'] ; 'a' is in 'cab' ; 1 is sameas 1 ; 'ab' is lower ; 'AB' is upper ; '1' is lower ; range is callable ; s is callable ; l is string or l is sequence and l is not mapping ; n is defined and n > 5 ; 'upper' is filter ; 'nope' is filter ; 1 is == 1 ; s is not string
s.upper() ; s.split() ; ' a  b c '.split() ; 'a,b,,c'.split(',') ; 'a,b,c'.split(',', 1) ; 'a b c d'.split(none, 2) ; 'a,b,c'.rsplit(',', 1) ; ' a b  c '.rsplit(none, 1) ; ' a b  c '.rsplit() ; ' a  b '.split(none, 1) ; ' a  b '.rsplit(none, 0) ; ' a  b '.split(none, 0) ; 'a,b'.rsplit(',', 0) ; 'x</think>y'.split('</think>')[-1] ; '\\n\\nx\\n'.strip('\\n') ; 'xyabcyx'.strip('xy') ; ' x '.lstrip() ; ' x '.rstrip() ; s.startswith('Hell') ; s.startswith(('x','H')) ; s.endswith('ld') ; s.endswith('x') ; s.startswith('ello', 1) ; s.replace('l','L') ; s.replace('l','L',1) ; s.find('o') ; s.rfind('o') ; s.find('zz') ; u.find('日') ; s.index('W') ; s.count('l') ; 'abc'.title() ; "they're bill's".title() ; 'aBC'.capitalize() ; 'aBc'.swapcase() ; '-'.join(['a','b']) ; ''.join([]) ; 'a=b=c'.partition('=') ; 'a=b=c'.rpartition('=') ; 'abc'.partition('x') ; '42'.zfill(5) ; '-42'.zfill(5) ; 'a'.ljust(3,'.') ; 'a'.rjust(3) ; 'ab'.center(5,'*') ; 'abc'.center(6,'*') ; '12'.isdigit() ; ''.isdigit() ; 'ab1'.isalnum() ; 'ab'.isalpha() ; ' '.isspace() ; 'aB'.islower() ; 'AB'.isupper() ; 'a\\nb\\r\\nc\\n'.splitlines() ; 'a\\nb'.splitlines(true) ; 'prefix-x'.removeprefix('prefix-') ; 'x.py'.removesuffix('.py') ; '{} {}'.format(1,'a') ; '{1}{0}'.format('a','b') ; '{x}'.format(x=3) ; '{{}}'.format() ; '%s and %d' % ('a', 3) ; '%05.2f|%x|%%' % (3.14159, 255) ; '%s' % none ; '%r' % 'a' ; '%5s|%-5s|' % ('a','b')
d.items()|list ; d.keys()|list ; d.values()|list ; d.get('b') ; d.get('zz') ; d.get('zz', 'dflt') ; d.items is callable ; d['items'] ; d.b ; d['b'] ; d.zz ; d.a[1].x ; d.keys() ; d.items()|length ; {'get':1}.get('get') ; d['keys'] is callable ; l.index(1) ; l.count(9) ; l.append(4) ; d.update({}) ; d.pop('b') ; namespace(a=1).a ; namespace(a=1).b ; namespace({'x':2}, y=3).y ; dict(a=1, b=2) ; dict({'q':1}, z=2) ; dict([['a',1]]) ; range(3)|list ; range(1,4)|list ; range(5,0,-2)|list ; range(0) |list ; range(3)[1] ; strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %p %I %y %-d %-m %%') ; missing.foo ; missing() ; none.foo ; none.foo.bar ; s.nope ; n.nope ; s.nope.x ; missing[0] ; missing + 1 ; none + 1 ; 'a' + 1 ; [] + 'a' ; 1 < 'a' ; 1 / 0 ; 1 % 0 ; missing < 1 ; missing == missing ; missing == none ; 1 in 5 ; none|length ; s() ; {}['a'] ; {[]: 1} ; l['x'] ; s.upper.x ; -'a' ; none|first ; 5|list ; raise_exception('bad: ' ~ n) ; range(200000) ; 'a'|upper(1) ; m|selectattr('role','nosuch')|list ; m|map('nosuch')|list ; loop
"""

TEMPLATES = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n", "a\n   {% if true %}   \n  b\n   {% endif %}\nc\n\n", "x {% if true %} y {% endif %} z", "  {{ 1 }}  \n  {{ 2 }}\n",
    "a  {{- ' b ' -}}  c", "a\n\n{%- if true -%}\n\n b \n{%- endif %}\n\nc", "a\n  {%+ if true %}\nb\n  {%+ endif +%}\nc", "a {# comment #} b\n  {# x #}\nc {#- y -#} d",
    "{% if true +%}\nx{% endif %}", "\n{% if true %}\n{% endif %}\n\n", "a\r\nb\rc\r\n", "{% raw %}{{ x }} {% if %}{% endraw %}\nz", "  {%- raw -%}  {{ x }}  {%- endraw -%}  y", "a\n  {% raw %}\n b \n  {% endraw %}\nc",
    "{{ '{{' }} {{ '%}' }} {{ \"}}\" }}", "{{ {'a': {'b': 1}}['a'] }}", "{{ {'a': {'b': 1}} }}", "{ {a} } {", "{{ 'a\\n' }}\n{{ 'b' }}\n", "{#- a -#}\n x", "   {#+ keep #}x",
    "{% for x in l %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "{% for x in [] %}a{% else %}none{% endfor %}", "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }} {% endfor %}", "{% for c in 'añ' %}[{{ c }}]{% endfor %}", "{% for (a, b), c in [((1,2),3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.depth }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in m %}{{ loop.previtem is defined }}{{ loop.nextitem is defined and loop.nextitem.role == 'user' }} {% endfor %}", "{% for x in m %}{% if loop.previtem and loop.previtem.role != x.role %}!{% endif %}{% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for a in range(3) %}{% for b in range(3) %}{% if b == a %}{% break %}{% endif %}{{ a }}{{ b }} {% endfor %}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('odd','even') }}{{ loop.changed(x > 1) }} {% endfor %}", "{% for x in [[1,[2]],[3]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}",
    "{% for x in l %}{% set y = x %}{% endfor %}{{ y is defined }}", "{% set y = 1 %}{% for x in l %}{% set y = x %}{{ y }}{% endfor %}{{ y }}", "{% for x in l %}{{ y is defined }}{% set y = x %}{% endfor %}", "{% set ns = namespace(c=0) %}{% for x in l %}{% set ns.c = ns.c + x %}{% endfor %}{{ ns.c }}",
    "{% if true %}{% set a = 5 %}{% endif %}{{ a }}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set a = 1, 2 %}{{ a }}", "{% set x %}  hi {{ n }}{% endset %}[{{ x }}]", "{% set x | upper | trim %}  hi {% endset %}[{{ x }}]", "{% set q %}{% set inner = 1 %}{% endset %}{{ inner is defined }}", "{% set x.y = 1 %}", "{% set x = namespace() %}{% set x.y %}blk{% endset %}{{ x.y }}",
    "{% macro f(a, b=2, c='x') %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c='z') }} {{ f(b=5, a=0) }} {{ f() }}", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1,2) }}", "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1,2,x=3) }}", "{% macro f(a) %}{% endmacro %}{{ f(1,2) }}", "{% macro f(a) %}{% endmacro %}{{ f(z=2) }}", "{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}",
    "{% macro f() %}{{ g }}{% endmacro %}{% set g = 7 %}{{ f() }}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f(x) -%}\n  {{ x }}\n{%- endmacro %}[{{ f('a') }}]{{ f('b')|upper }}{{ f('c') ~ 'd' }}", "{% macro f(x) %}{% set x = 9 %}{{ x }}{% endmacro %}{{ f(1) }}{{ x is defined }}", "{% macro f(a=[]) %}{{ a|length }}{% endmacro %}{{ f() }}{{ f([1]) }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "{% filter upper %}a{{ n }}b{% endfilter %}", "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}",
    "{{ x if x is defined else 'no' }}", "{{ (\n  n > 5\n  and s is string\n) }}", "{% if (m[0].role == 'user'\n    or (n is defined\n    and n != 7)) and\n   not z %}ok{% endif %}", "{{- 'a'\n   ~ 'b' -}}",
    "{% if n == 1 %}a{% elif n == 7 %}b{% else %}c{% endif %}", "{% if z %}a{% elif e %}b{% else %}c{% endif %}", "{% if d.zz is defined and d.zz %}x{% endif %}y", "{% if 1, %}t{% endif %}", "{{ 1, 2 }}", "{% for i in range(3) %}\n  {{ i }}\n{% endfor %}\nend",
    "{{ m | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(' ') }}", "{{ raise_exception('no') if n == 7 else 'fine' }}", "{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}c", "{% generation %}a{% set g = 1 %}{% endgeneration %}{{ g is defined }}",
    "{% for x in l %}{% macro f() %}{{ x }}{% endmacro %}{{ f() }}{% endfor %}", "{% for i in [1,2] %}{% for j in [1,2] %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% set loop = 1 %}{{ loop }}", "{{ '\\x41\\u00e9\\U0001F642\\t\\101\\q\\\\' }}", "{{ 'a' if n > 5 and s else 'b' }}", "{{ n if n is number and n is not string }}",
    "{% set content = 'a</think>b' %}{% if '</think>' in content %}{{ content.split('</think>')[0].split('<think>')[-1] }}|{{ content.split('</think>')[-1].lstrip('\\n') }}{% endif %}", "{% set x = {'a': 1, 'b': [1, 2]} %}{{ x.a }}{{ x['b'][1] }}{{ x.c is defined }}",
    "{% if x %}", "{% endif %}", "{{ }}", "{{ 1 +", "{% for %}{% endfor %}", "{% if true %}{% else %}{% elif %}{% endif %}", "{% unknown %}", "{{ a b }}", "{{ 'abc }}", "{# never", "{% raw %}", "{{ x | nosuch }}", "{{ x is nosuch }}", "{{ (1 }}", "{{ 1] }}", "{% break %}", "{% for x in l %}", "{{ 1 1 }}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{{ a. }}", "{{ a[ }}", "{{ not }}", "{{ 007 }}", "{% macro f(a=1, b) %}{% endmacro %}", "{{ f(a=1, 2) }}", "{{ ! }}", "{% for loop in l %}{% endfor %}", "{% if %}{% endif %}", "{{ {1} }}", "{{ [1 2] }}", "{{ 'a' 1 }}",
]


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_wrap"), [], [], body).set_lineno(line)

    def _wrap(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime(2026, 8, 9, 7, 5, 3).strftime(f)
    return env


def main():
    templates = ["{{ " + x.strip() + " }}" for line in EXPRESSIONS.strip().split("\n") for x in line.split(" ; ")] + TEMPLATES
    env, cases = environment(), []
    for t in templates:
        case = {"template": t}
        try:
            case["text"] = env.from_string(t).render(**VARS)
        except Exception as e:  # every kind of failure is a case
            case["error"] = str(e) if type(e) is jinja2.exceptions.TemplateError else type(e).__name__
        cases.append(case)
    origin = (f"rendered by jinja2 {jinja2.__version__} (BSD-3-Clause) under Python {sys.version.split()[0]} with python.py; "
              "error: the message of raise_exception, else Python's exception")
    out = '{"origin": %s,\n"vars": %s,\n"cases": [\n%s\n]}\n' % (
        json.dumps(origin), json.dumps(VARS, ensure_ascii=True), ",\n".join(json.dumps(c, ensure_ascii=True) for c in cases))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python.json")
    settle(path, out)
    print(len(cases), "cases,", sum("error" in c for c in cases), "errors")


def settle(path, out):
    if "--write" in sys.argv:
        open(path, "w").write(out)
    elif open(path).read() != out:
        sys.exit(path + " differs from what this jinja2 gives; look at the difference after --write")


def conversations():
    here = os.path.dirname(os.path.abspath(__file__))
    template = environment().from_string(open(os.path.join(here, "flash.jinja")).read())
    cases = json.load(open(os.path.join(here, "conversations.json")))
    for c in cases:
        try:
            c["text"] = template.render(messages=c["messages"], **c["kwargs"])
        except jinja2.exceptions.TemplateError as e:
            c["error"] = str(e)
    origin = f"conversations.json by flash.jinja, rendered by jinja2 {jinja2.__version__} (BSD-3-Clause) with python.py"
    settle(os.path.join(here, "flash.json"), '{"origin": %s,\n"cases": [\n%s\n]}\n' % (json.dumps(origin), ",\n".join(json.dumps(c) for c in cases)))
    print(len(cases), "conversations,", sum("error" in c for c in cases), "errors")


main()
conversations()
