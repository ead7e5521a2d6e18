"""x"""


class Client: ...
